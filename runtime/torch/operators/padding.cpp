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

at::DimVector paddedSize(const at::Tensor& self, at::IntArrayRef padding) {
    at::DimVector size(self.sizes());
    for (size_t pair = 0; pair < padding.size() / 2; ++pair) {
        size[size.size() - 1 - pair] += padding[2 * pair] + padding[2 * pair + 1];
    }
    return size;
}

void fillPadded(at::Tensor& out, const at::Tensor& self, at::IntArrayRef padding, const char* mode) {
    if (out.numel() == 0) {
        return;
    }
    for (const int64_t amount : padding) {
        if (amount < 0) {
            fallBack("what is cut off may be the edge that repeats");
        }
    }
    Call call(self);
    call("diopiPad", diopiPad, Output(out), Input(call, self), sizes(padding), mode, nullptr);
}

// Pads an index tensor the same way, then scatter-adds grad_output.
void fillGradient(at::Tensor& out, const at::Tensor& gradient, const at::Tensor& self, at::IntArrayRef padding,
                  const char* mode) {
    const auto spatial = static_cast<int64_t>(padding.size() / 2);
    at::DimVector size{1, 1};
    int64_t count = 1;
    for (int64_t i = self.dim() - spatial; i < self.dim(); ++i) {
        size.push_back(self.size(i));
        count *= self.size(i);
    }
    if (gradient.numel() == 0 || count == 0 || self.dim() <= spatial) {
        fallBack("PyTorch has rules of its own for nothing");
    }
    const at::Tensor own = at::arange(count, self.options().dtype(at::kLong)).reshape(size);
    at::Tensor source = at::empty(paddedSize(own, padding), own.options());
    fillPadded(source, own, padding, mode);
    TORCH_CHECK(gradient.sizes() == at::IntArrayRef(paddedSize(self, padding)),
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

at::Tensor& gradientOut(at::Tensor& out, const at::Tensor& gradient, const at::Tensor& self, at::IntArrayRef padding,
                        const char* mode) {
    makeOrResize(out, self.sizes(), self.options());
    fillGradient(out, gradient, self, padding, mode);
    return out;
}

}  // namespace

at::Tensor& reflectionPad2d(const at::Tensor& self, at::IntArrayRef padding, at::Tensor& out) {
    const bool isImage = self.dim() == 3 || self.dim() == 4;
    if (!isImage || padding.size() != 4 || self.numel() == 0 ||
        (out.defined() && out.scalar_type() != self.scalar_type())) {
        fallBack("PyTorch rejects this");
    }
    for (int64_t pair = 0; pair < 2; ++pair) {
        const int64_t size = self.size(-1 - pair);
        const auto at = static_cast<size_t>(2 * pair);
        if (padding[at] >= size || padding[at + 1] >= size || size + padding[at] + padding[at + 1] < 1) {
            fallBack("PyTorch rejects this");
        }
    }
    makeOrResize(out, paddedSize(self, padding), self.options());
    fillPadded(out, self, padding, kReflect);
    return out;
}

void reflectionPad1dBackward(at::Tensor& grad_input, const at::Tensor& grad_output, const at::Tensor& self,
                             at::IntArrayRef padding) {
    fillGradient(grad_input, grad_output, self, padding, kReflect);
}

at::Tensor& reflectionPad2dBackward(const at::Tensor& grad_output, const at::Tensor& self, at::IntArrayRef padding,
                                    at::Tensor& grad_input) {
    return gradientOut(grad_input, grad_output, self, padding, kReflect);
}

void reflectionPad3dBackward(at::Tensor& grad_input, const at::Tensor& grad_output, const at::Tensor& self,
                             at::IntArrayRef padding) {
    fillGradient(grad_input, grad_output, self, padding, kReflect);
}

void replicationPad1dBackward(at::Tensor& grad_input, const at::Tensor& grad_output, const at::Tensor& self,
                              at::IntArrayRef padding) {
    fillGradient(grad_input, grad_output, self, padding, kReplicate);
}

at::Tensor& replicationPad2dBackward(const at::Tensor& grad_output, const at::Tensor& self, at::IntArrayRef padding,
                                     at::Tensor& grad_input) {
    return gradientOut(grad_input, grad_output, self, padding, kReplicate);
}

at::Tensor& replicationPad3dBackward(const at::Tensor& grad_output, const at::Tensor& self, at::IntArrayRef padding,
                                     at::Tensor& grad_input) {
    return gradientOut(grad_input, grad_output, self, padding, kReplicate);
}

}  // namespace diopigen::backend::kernels
