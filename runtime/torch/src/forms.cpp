#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/forms.h>

namespace diopigen::backend {

at::Tensor& give(at::Tensor& out, const at::Tensor& result) {
    if (!result.defined()) {
        return out;
    }
    if (out.scalar_type() != result.scalar_type() || out.device() != result.device()) {
        fall_back("PyTorch has rules for the dtypes and devices of outputs");
    }
    at::native::resize_output(out, result.sizes());
    return out.copy_(result);
}

at::Tensor& give_inplace(at::Tensor& self, const at::Tensor& result) {
    if (self.scalar_type() != result.scalar_type() || self.sizes() != result.sizes()) {
        fall_back("PyTorch has rules for what is written in place");
    }
    return self.copy_(result);
}

void make_or_resize(at::Tensor& out, at::IntArrayRef sizes, const at::TensorOptions& options) {
    if (!out.defined()) {
        out = at::empty(sizes, options);
        return;
    }
    TORCH_CHECK(out.device() == options.device(), "Expected out tensor to have device ", options.device(), ", but got ",
                out.device(), " instead");
    if (at::native::resize_output(out, sizes) && options.memory_format_opt().has_value()) {
        out.unsafeGetTensorImpl()->empty_tensor_restride(*options.memory_format_opt());
    }
}

void make_or_shape(at::Tensor& out, at::IntArrayRef sizes, const at::TensorOptions& options) {
    TORCH_CHECK(!out.defined() || out.dtype() == options.dtype(), "Expected out tensor to have dtype ", options.dtype(),
                ", but got ", out.dtype(), " instead");
    make_or_resize(out, sizes, options);
}

}  // namespace diopigen::backend
