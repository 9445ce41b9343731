#include "words.h"

#include <ATen/core/Formatting.h>
#include <ATen/core/Tensor.h>

#include <sstream>

namespace diopigen::backend {

namespace {

void write(std::ostringstream& text, const at::Tensor& tensor, bool withValues) {
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
    if (withValues) {
        text << '\n';
        at::print(text, tensor.cpu(), 100);
    }
}

}  // namespace

std::string describe(const c10::IValue& value, bool withValues) {
    std::ostringstream text;
    if (value.isTensor()) {
        write(text, value.toTensor(), withValues);
    } else if (value.isTensorList() || value.isOptionalTensorList()) {
        text << "list";
        for (const c10::IValue& item : value.toListRef()) {
            text << "\n      ";
            write(text, item.isNone() ? at::Tensor() : item.toTensor(), withValues);
        }
    } else {
        text << value;
    }
    return text.str();
}

}  // namespace diopigen::backend
