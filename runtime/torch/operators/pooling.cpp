// Pooling that PyTorch has no meta function for.
#include <ATen/native/AdaptivePooling.h>
#include <ATen/native/Pool.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/forms.h>
#include <diopigen_torch/shaped.h>

#include <array>
#include <vector>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

// ---- Adaptive means
// --------------------------------------------------------------------------------------------------

std::vector<int64_t> adaptive_sizes(const char* name, const at::Tensor& self, at::IntArrayRef output_size,
                                    int64_t rank) {
    TORCH_CHECK(static_cast<int64_t>(output_size.size()) == rank, name, ": output_size must be ", rank);
    TORCH_CHECK(self.dim() == rank + 1 || self.dim() == rank + 2, name, "(): Expected ", rank + 1, "D or ", rank + 2,
                "D tensor, but got ", self.sizes());
    for (int64_t i = 1; i <= rank; ++i) {
        TORCH_CHECK(self.size(-i) > 0, name, "(): Expected input to have non-zero size for non-batch dimensions, but ",
                    "input has sizes ", self.sizes(), " with dimension ", self.dim() - i, " being empty");
    }
    std::vector<int64_t> sizes = self.sizes().vec();
    std::copy(output_size.begin(), output_size.end(), sizes.end() - rank);
    return sizes;
}

void run_adaptive(at::Tensor& out, const at::Tensor& self, at::IntArrayRef output_size) {
    Call call(self);
    Output written(out, self.scalar_type());
    const bool is_plane = output_size.size() == 2;
    call(is_plane ? "diopiAdaptiveAvgPool2d" : "diopiAdaptiveAvgPool3d",
         is_plane ? diopiAdaptiveAvgPool2d : diopiAdaptiveAvgPool3d, written, Input(call, self, kFloating),
         sizes(output_size));
    written.finish();
}

at::Tensor& adaptive(const char* name, const at::Tensor& self, at::IntArrayRef output_size, int64_t rank,
                     at::Tensor& out) {
    const std::vector<int64_t> output_sizes = adaptive_sizes(name, self, output_size, rank);
    const auto options = self.options().memory_format(self.dim() == rank + 2 ? self.suggest_memory_format()
                                                                             : at::MemoryFormat::Contiguous);
    make_or_shape(out, output_sizes, options);
    run_adaptive(out, self, output_size);
    return out;
}

void run_adaptive_backward(at::Tensor& grad_input, const at::Tensor& gradOutput, const at::Tensor& self,
                           bool is_plane) {
    at::native::adaptive_pool_empty_output_check(gradOutput, "adaptive_avg_pool_backward");
    TORCH_CHECK(gradOutput.scalar_type() == self.scalar_type(), "expected dtype ", self.scalar_type(),
                " for `grad_output` but got dtype ", gradOutput.scalar_type());
    Call call(self);
    Output written(grad_input, self.scalar_type());
    call(is_plane ? "diopiAdaptiveAvgPool2dBackward" : "diopiAdaptiveAvgPool3dBackward",
         is_plane ? diopiAdaptiveAvgPool2dBackward : diopiAdaptiveAvgPool3dBackward, written,
         Input(call, gradOutput, self.scalar_type()), Input(call, self, kFloating));
    written.finish();
}

// ---- Maxima in volumes
// -----------------------------------------------------------------------------------------------

// One number stands for three; no stride is the size of the window.
std::array<int64_t, 3> triple(const char* name, at::IntArrayRef values, at::IntArrayRef otherwise = {}) {
    const at::IntArrayRef selected = values.empty() ? otherwise : values;
    TORCH_CHECK(selected.size() == 1 || selected.size() == 3, "max_pool3d: ", name,
                " must either be a single int, or a tuple of three ints");
    return selected.size() == 1 ? std::array<int64_t, 3>{selected[0], selected[0], selected[0]}
                                : std::array<int64_t, 3>{selected[0], selected[1], selected[2]};
}

diopiSize_t three(const std::array<int64_t, 3>& values) { return {values.data(), 3}; }

struct Window {
    Window(at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil)
        : kernel(triple("kernel_size", kernel)),
          stride(triple("stride", stride, kernel)),
          padding(triple("padding", padding)),
          dilation(triple("dilation", dilation)),
          ceil(ceil) {}

    std::vector<int64_t> output_sizes(const at::Tensor& self) const {
        TORCH_CHECK(self.dim() == 4 || self.dim() == 5,
                    "max_pool3d: Expected 4D or 5D tensor for input, but got: ", self.sizes());
        std::vector<int64_t> sizes = self.sizes().vec();
        std::array<int64_t, 3> out{};
        const int64_t first = self.dim() - 3;
        for (size_t i = 0; i < 3; ++i) {
            out[i] = at::native::pooling_output_shape<int64_t>(self.size(first + static_cast<int64_t>(i)), kernel[i],
                                                               padding[i], stride[i], dilation[i], ceil);
            sizes[static_cast<size_t>(first) + i] = out[i];
        }
        const auto narrow = [](int64_t value) { return static_cast<int>(value); };
        at::native::pool3d_shape_check(self, self.size(-4), narrow(kernel[0]), narrow(kernel[1]), narrow(kernel[2]),
                                       narrow(stride[0]), narrow(stride[1]), narrow(stride[2]), narrow(padding[0]),
                                       narrow(padding[1]), narrow(padding[2]), narrow(dilation[0]), narrow(dilation[1]),
                                       narrow(dilation[2]), self.size(-3), self.size(-2), self.size(-1), out[0], out[1],
                                       out[2], "max_pool3d_with_indices_out");
        return sizes;
    }

    std::array<int64_t, 3> kernel;
    std::array<int64_t, 3> stride;
    std::array<int64_t, 3> padding;
    std::array<int64_t, 3> dilation;
    bool ceil;
};

void run_max_pool(at::Tensor& out, at::Tensor& indices, const at::Tensor& self, const Window& window) {
    Call call(self);
    Output written(out, self.scalar_type());
    Output positions(indices, at::kLong);
    call("diopiMaxPool3dWithIndices", diopiMaxPool3dWithIndices, written, positions, Input(call, self, kNumber),
         three(window.kernel), three(window.stride), three(window.padding), three(window.dilation), window.ceil);
    written.finish();
    positions.finish();
}

void run_max_pool_backward(at::Tensor& grad_input, const at::Tensor& gradOutput, const at::Tensor& self,
                           const Window& window, const at::Tensor& indices) {
    const at::ScalarType type = self.scalar_type();
    Call call(self);
    Output written(grad_input, type);
    call("diopiMaxPool3dBackward", diopiMaxPool3dBackward, written, Input(call, gradOutput, type),
         Input(call, self, kFloating), three(window.kernel), three(window.stride), three(window.padding),
         three(window.dilation), window.ceil, Input(call, indices));
    written.finish();
}

}  // namespace

at::Tensor& adaptive_avg_pool2d(const at::Tensor& self, at::IntArrayRef output_size, at::Tensor& out) {
    return adaptive("adaptive_avg_pool2d", self, output_size, 2, out);
}

at::Tensor adaptive_avg_pool2d_backward(const at::Tensor& grad_output, const at::Tensor& self) {
    at::Tensor grad_input = at::empty_like(self, self.suggest_memory_format());
    run_adaptive_backward(grad_input, grad_output, self, /*is_plane=*/true);
    return grad_input;
}

at::Tensor& adaptive_avg_pool3d(const at::Tensor& self, at::IntArrayRef output_size, at::Tensor& out) {
    return adaptive("adaptive_avg_pool3d", self, output_size, 3, out);
}

at::Tensor& adaptive_avg_pool3d_backward(const at::Tensor& grad_output, const at::Tensor& self,
                                         at::Tensor& grad_input) {
    make_or_resize(grad_input, self.sizes(), self.options().memory_format(self.suggest_memory_format()));
    run_adaptive_backward(grad_input, grad_output, self, /*is_plane=*/false);
    return grad_input;
}

std::tuple<at::Tensor&, at::Tensor&> max_pool3d_with_indices(const at::Tensor& self, at::IntArrayRef kernel_size,
                                                             at::IntArrayRef stride, at::IntArrayRef padding,
                                                             at::IntArrayRef dilation, bool ceil_mode, at::Tensor& out,
                                                             at::Tensor& indices) {
    const Window window(kernel_size, stride, padding, dilation, ceil_mode);
    const std::vector<int64_t> output_sizes = window.output_sizes(self);
    const auto options = self.options().memory_format(self.suggest_memory_format());
    make_or_resize(out, output_sizes, options);
    make_or_resize(indices, output_sizes, options.dtype(at::kLong));
    run_max_pool(out, indices, self, window);
    return {out, indices};
}

at::Tensor& max_pool3d_with_indices_backward(const at::Tensor& grad_output, const at::Tensor& self,
                                             at::IntArrayRef kernel_size, at::IntArrayRef stride,
                                             at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil_mode,
                                             const at::Tensor& indices, at::Tensor& grad_input) {
    make_or_resize(grad_input, self.sizes(), self.options().memory_format(self.suggest_memory_format()));
    run_max_pool_backward(grad_input, grad_output, self, Window(kernel_size, stride, padding, dilation, ceil_mode),
                          indices);
    return grad_input;
}

}  // namespace diopigen::backend::kernels
