// Lists and numbers that go between host and device.
#include "detection/numbers.h"
#include "diopi_cuda/runtime.h"

namespace diopigen::core {

Buffer list_for_kernels(const void* values, int64_t bytes) {
    Buffer buffer;
    if (bytes > 0) {
        buffer.allocate(bytes);
        cuda::send(buffer.data(), values, static_cast<size_t>(bytes));
    }
    return buffer;
}

std::vector<int64_t> integers_at(const Int64* values, int64_t count) {
    std::vector<int64_t> found(static_cast<size_t>(count));
    if (count > 0) {
        cuda::read_back(found.data(), values, found.size() * sizeof(int64_t));
    }
    return found;
}

std::vector<int64_t> integers_of(const Tensor& tensor) {
    const Input<Int64> values(tensor);
    return integers_at(values.data(), tensor.numel);
}

std::vector<float> floats_of(const Tensor& tensor) {
    std::vector<float> found(static_cast<size_t>(tensor.numel));
    if (tensor.device == diopi_host) {
        for (int64_t i = 0; i < tensor.numel; ++i) {
            found[i] = tensor.elements<const float>()[i * tensor.strides[0]];
        }
    } else if (tensor.numel > 0) {
        const Input<float> values(tensor);
        cuda::read_back(found.data(), values.data(), found.size() * sizeof(float));
    }
    return found;
}

void store_number(const Tensor& to, int64_t number) {
    if (to.device == diopi_host) {
        *to.elements<int64_t>() = number;
    } else {
        fill(to, Number::of(number));
    }
}

}  // namespace diopigen::core
