#include "words.h"

#include <ATen/core/Formatting.h>
#include <ATen/core/Tensor.h>

#include <sstream>

namespace diopigen::backend {

namespace {

void write(std::ostringstream& text, const at::Tensor& tensor, bool with_values) {
    if (!tensor.defined()) {
        text << "no tensor";
        return;
    }
    text << "tensor " << tensor.scalar_type() << ' ' << tensor.sizes();
    if (tensor.layout() == at::kStrided) {
        text << " stride " << tensor.strides() << " offset " << tensor.storage_offset();
    } else {
        text << ' ' << tensor.layout();
    }
    text << " numel " << tensor.numel() << " on " << tensor.device();
    if (with_values) {
        text << '\n';
        at::print(text, tensor.cpu(), 100);
    }
}

}  // namespace

std::string describe(const c10::IValue& value, bool with_values) {
    std::ostringstream text;
    if (value.isTensor()) {
        write(text, value.toTensor(), with_values);
    } else if (value.isTensorList() || value.isOptionalTensorList()) {
        text << "list";
        for (const c10::IValue& item : value.toListRef()) {
            text << "\n      ";
            write(text, item.isNone() ? at::Tensor() : item.toTensor(), with_values);
        }
    } else {
        text << value;
    }
    return text.str();
}

}  // namespace diopigen::backend
