// Tensors with a mirror image or a copy of their edge around them.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/compose.h>
#include <diopigen_torch/forms.h>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

constexpr const char* kReflect = "reflect";
constexpr const char* kReplicate = "replicate";

at::DimVector padded_size(const at::Tensor& self, at::IntArrayRef padding) {
    at::DimVector size(self.sizes());
    for (size_t pair = 0; pair < padding.size() / 2; ++pair) {
        size[size.size() - 1 - pair] += padding[2 * pair] + padding[2 * pair + 1];
    }
    return size;
}

void fill_padded(at::Tensor& out, const at::Tensor& self, at::IntArrayRef padding, const char* mode) {
    if (out.numel() == 0) {
        return;
    }
    for (const int64_t amount : padding) {
        if (amount < 0) {
            fall_back("what is cut off may be the edge that repeats");
        }
    }
    Call call(self);
    call("diopiPad", diopiPad, Output(out), Input(call, self), sizes(padding), mode, nullptr);
}

// Pads an index tensor the same way, then scatter-adds grad_output.
void fill_gradient(at::Tensor& out, const at::Tensor& gradient, const at::Tensor& self, at::IntArrayRef padding,
                   const char* mode) {
    const auto spatial = static_cast<int64_t>(padding.size() / 2);
    at::DimVector size{1, 1};
    int64_t count = 1;
    for (int64_t i = self.dim() - spatial; i < self.dim(); ++i) {
        size.push_back(self.size(i));
        count *= self.size(i);
    }
    if (gradient.numel() == 0 || count == 0 || self.dim() <= spatial) {
        fall_back("PyTorch has rules of its own for nothing");
    }
    const at::Tensor own = at::arange(count, self.options().dtype(at::kLong)).reshape(size);
    at::Tensor source = at::empty(padded_size(own, padding), own.options());
    fill_padded(source, own, padding, mode);
    TORCH_CHECK(gradient.sizes() == at::IntArrayRef(padded_size(self, padding)),
                "grad_output has an unexpected size: ", gradient.sizes());
    const int64_t rows = self.numel() / count;
    const at::ScalarType type = wide(self.scalar_type());
    at::Tensor sum = at::zeros({rows, count}, self.options().dtype(type));
    c10::List<std::optional<at::Tensor>> indices;
    indices.push_back(std::optional<at::Tensor>());
    indices.push_back(source.reshape({-1}));
    sum.index_put_(indices, gradient.to(type).reshape({rows, source.numel()}), /*accumulate=*/true);
    put(out, sum.reshape(self.sizes()));
}

at::Tensor& gradient_out(at::Tensor& out, const at::Tensor& gradient, const at::Tensor& self, at::IntArrayRef padding,
                         const char* mode) {
    make_or_resize(out, self.sizes(), self.options());
    fill_gradient(out, gradient, self, padding, mode);
    return out;
}

}  // namespace

at::Tensor& reflection_pad2d(const at::Tensor& self, at::IntArrayRef padding, at::Tensor& out) {
    const bool is_image = self.dim() == 3 || self.dim() == 4;
    if (!is_image || padding.size() != 4 || self.numel() == 0 ||
        (out.defined() && out.scalar_type() != self.scalar_type())) {
        fall_back("PyTorch rejects this");
    }
    for (int64_t pair = 0; pair < 2; ++pair) {
        const int64_t size = self.size(-1 - pair);
        const auto at = static_cast<size_t>(2 * pair);
        if (padding[at] >= size || padding[at + 1] >= size || size + padding[at] + padding[at + 1] < 1) {
            fall_back("PyTorch rejects this");
        }
    }
    make_or_resize(out, padded_size(self, padding), self.options());
    fill_padded(out, self, padding, kReflect);
    return out;
}

void reflection_pad1d_backward(at::Tensor& grad_input, const at::Tensor& grad_output, const at::Tensor& self,
                               at::IntArrayRef padding) {
    fill_gradient(grad_input, grad_output, self, padding, kReflect);
}

at::Tensor& reflection_pad2d_backward(const at::Tensor& grad_output, const at::Tensor& self, at::IntArrayRef padding,
                                      at::Tensor& grad_input) {
    return gradient_out(grad_input, grad_output, self, padding, kReflect);
}

void reflection_pad3d_backward(at::Tensor& grad_input, const at::Tensor& grad_output, const at::Tensor& self,
                               at::IntArrayRef padding) {
    fill_gradient(grad_input, grad_output, self, padding, kReflect);
}

void replication_pad1d_backward(at::Tensor& grad_input, const at::Tensor& grad_output, const at::Tensor& self,
                                at::IntArrayRef padding) {
    fill_gradient(grad_input, grad_output, self, padding, kReplicate);
}

at::Tensor& replication_pad2d_backward(const at::Tensor& grad_output, const at::Tensor& self, at::IntArrayRef padding,
                                       at::Tensor& grad_input) {
    return gradient_out(grad_input, grad_output, self, padding, kReplicate);
}

at::Tensor& replication_pad3d_backward(const at::Tensor& grad_output, const at::Tensor& self, at::IntArrayRef padding,
                                       at::Tensor& grad_input) {
    return gradient_out(grad_input, grad_output, self, padding, kReplicate);
}

}  // namespace diopigen::backend::kernels
