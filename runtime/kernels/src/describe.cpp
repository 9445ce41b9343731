#include <diopigen_kernels/chip.h>
#include <diopigen_kernels/describe.h>

namespace diopigen::kernels {

std::string dtypeNames(uint32_t mask) {
    std::string names;
    for (int bit = 0; bit < 32; ++bit) {
        const auto dtype = static_cast<diopiDtype_t>(bit);
        if ((mask & bitOf(dtype)) != 0 && element_bytes(dtype) != 0) {
            names += (names.empty() ? "" : ", ") + std::string(dtype_name(dtype));
        }
    }
    return names;
}

std::string describe(const Shape& sizes) {
    std::string text = "[";
    for (const int64_t size : sizes) {
        text += (text.size() > 1 ? ", " : "") + std::to_string(size);
    }
    return text + "]";
}

std::string describe(const Buffer& tensor) {
    return std::string(dtype_name(tensor.dtype)) + " " + describe(tensor.shape);
}

}  // namespace diopigen::kernels
