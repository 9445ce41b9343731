// Convolutions by the names that PyTorch gives to its own kernels for them. They take samples without a batch too.
#include <diopigen_torch/call.h>
#include <diopigen_torch/forms.h>

#include <array>
#include <vector>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

constexpr int64_t kOnes[] = {1, 1, 1};
constexpr int64_t kZeros[] = {0, 0, 0};

at::IntArrayRef first(const int64_t (&values)[3], at::IntArrayRef like) { return {values, like.size()}; }

at::Tensor convolve(const at::Tensor& self, const at::Tensor& weight, const MaybeTensor& bias, at::IntArrayRef stride,
                    at::IntArrayRef padding, at::IntArrayRef dilation, int64_t groups = 1) {
    const bool is_batched = self.dim() == weight.dim();
    const at::Tensor out = kernels::convolution_overrideable(
        is_batched ? self : self.unsqueeze(0), weight, bias, stride, padding, dilation,
        /*transposed_convolution=*/false, first(kZeros, stride), groups);
    return is_batched ? out : out.squeeze(0);
}

at::Tensor transposed_convolution(const at::Tensor& self, const at::Tensor& weight, const MaybeTensor& bias,
                                  at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef output_padding,
                                  at::IntArrayRef dilation) {
    const bool is_batched = self.dim() == weight.dim();
    const at::Tensor out = kernels::convolution_overrideable(is_batched ? self : self.unsqueeze(0), weight, bias,
                                                             stride, padding, dilation,
                                                             /*transposed_convolution=*/true, output_padding, 1);
    return is_batched ? out : out.squeeze(0);
}

}  // namespace

at::Tensor slow_conv2d_forward(const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef /*kernel_size*/,
                               const MaybeTensor& bias, at::IntArrayRef stride, at::IntArrayRef padding) {
    return convolve(self, weight, bias, stride, padding, first(kOnes, stride));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> slow_conv2d_backward_output_mask(
    const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef /*kernel_size*/,
    at::IntArrayRef stride, at::IntArrayRef padding, std::array<bool, 3> output_mask) {
    const bool is_batched = self.dim() == weight.dim();
    auto [grad_input, grad_weight, grad_bias] = kernels::convolution_backward_overrideable(
        is_batched ? grad_output : grad_output.unsqueeze(0), is_batched ? self : self.unsqueeze(0), weight, stride,
        padding, first(kOnes, stride), /*transposed_convolution=*/false, first(kZeros, stride), 1, output_mask);
    const bool is_squeezed = !is_batched && grad_input.defined();
    return {is_squeezed ? grad_input.squeeze(0) : grad_input, std::move(grad_weight), std::move(grad_bias)};
}

std::tuple<at::Tensor&, at::Tensor&, at::Tensor&> slow_conv2d_backward_grad_input(
    const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef kernel_size,
    at::IntArrayRef stride, at::IntArrayRef padding, at::Tensor& grad_input, at::Tensor& grad_weight,
    at::Tensor& grad_bias) {
    const std::array<bool, 3> output_mask{grad_input.defined(), grad_weight.defined(), grad_bias.defined()};
    const auto results =
        slow_conv2d_backward_output_mask(grad_output, self, weight, kernel_size, stride, padding, output_mask);
    if (output_mask[0]) {
        give(grad_input, std::get<0>(results));
    }
    if (output_mask[1]) {
        give(grad_weight, std::get<1>(results));
    }
    if (output_mask[2]) {
        give(grad_bias, std::get<2>(results));
    }
    return {grad_input, grad_weight, grad_bias};
}

at::Tensor slow_conv3d_forward(const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef /*kernel_size*/,
                               const MaybeTensor& bias, at::IntArrayRef stride, at::IntArrayRef padding) {
    return convolve(self, weight, bias, stride, padding, first(kOnes, stride));
}

at::Tensor dilated_convolution(const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef /*kernel_size*/,
                               const MaybeTensor& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                               at::IntArrayRef dilation) {
    return convolve(self, weight, bias, stride, padding, dilation);
}

at::Tensor depthwise_convolution(const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef /*kernel_size*/,
                                 const MaybeTensor& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                                 at::IntArrayRef dilation) {
    const int64_t channels = self.size(self.dim() == weight.dim() ? 1 : 0);
    return convolve(self, weight, bias, stride, padding, dilation, channels);
}

void slow_conv_transpose2d(at::Tensor& out, const at::Tensor& self, const at::Tensor& weight,
                           at::IntArrayRef /*kernel_size*/, const MaybeTensor& bias, at::IntArrayRef stride,
                           at::IntArrayRef padding, at::IntArrayRef output_padding, at::IntArrayRef dilation) {
    out.copy_(transposed_convolution(self, weight, bias, stride, padding, output_padding, dilation));
}

at::Tensor slow_conv_transpose3d(const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef /*kernel_size*/,
                                 const MaybeTensor& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                                 at::IntArrayRef output_padding, at::IntArrayRef dilation) {
    return transposed_convolution(self, weight, bias, stride, padding, output_padding, dilation);
}

}  // namespace diopigen::backend::kernels
