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
    const bool isBatched = self.dim() == weight.dim();
    const at::Tensor out =
        convolutionOverrideable(isBatched ? self : self.unsqueeze(0), weight, bias, stride, padding, dilation,
                                /*transposedConvolution=*/false, first(kZeros, stride), groups);
    return isBatched ? out : out.squeeze(0);
}

at::Tensor transposedConvolution(const at::Tensor& self, const at::Tensor& weight, const MaybeTensor& bias,
                                 at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef outputPadding,
                                 at::IntArrayRef dilation) {
    const bool isBatched = self.dim() == weight.dim();
    const at::Tensor out =
        convolutionOverrideable(isBatched ? self : self.unsqueeze(0), weight, bias, stride, padding, dilation,
                                /*transposedConvolution=*/true, outputPadding, 1);
    return isBatched ? out : out.squeeze(0);
}

}  // namespace

at::Tensor slowConv2dForward(const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef /*kernel_size*/,
                             const MaybeTensor& bias, at::IntArrayRef stride, at::IntArrayRef padding) {
    return convolve(self, weight, bias, stride, padding, first(kOnes, stride));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> slowConv2dBackwardOutputMask(
    const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef /*kernel_size*/,
    at::IntArrayRef stride, at::IntArrayRef padding, std::array<bool, 3> output_mask) {
    const bool isBatched = self.dim() == weight.dim();
    auto [gradInput, gradWeight, gradBias] = convolutionBackwardOverrideable(
        isBatched ? grad_output : grad_output.unsqueeze(0), isBatched ? self : self.unsqueeze(0), weight, stride,
        padding, first(kOnes, stride), /*transposedConvolution=*/false, first(kZeros, stride), 1, output_mask);
    const bool isSqueezed = !isBatched && gradInput.defined();
    return {isSqueezed ? gradInput.squeeze(0) : gradInput, std::move(gradWeight), std::move(gradBias)};
}

std::tuple<at::Tensor&, at::Tensor&, at::Tensor&> slowConv2dBackwardGradInput(
    const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef kernel_size,
    at::IntArrayRef stride, at::IntArrayRef padding, at::Tensor& grad_input, at::Tensor& grad_weight,
    at::Tensor& grad_bias) {
    const std::array<bool, 3> outputMask{grad_input.defined(), grad_weight.defined(), grad_bias.defined()};
    const auto results =
        slowConv2dBackwardOutputMask(grad_output, self, weight, kernel_size, stride, padding, outputMask);
    if (outputMask[0]) {
        give(grad_input, std::get<0>(results));
    }
    if (outputMask[1]) {
        give(grad_weight, std::get<1>(results));
    }
    if (outputMask[2]) {
        give(grad_bias, std::get<2>(results));
    }
    return {grad_input, grad_weight, grad_bias};
}

at::Tensor slowConv3dForward(const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef /*kernel_size*/,
                             const MaybeTensor& bias, at::IntArrayRef stride, at::IntArrayRef padding) {
    return convolve(self, weight, bias, stride, padding, first(kOnes, stride));
}

at::Tensor dilatedConvolution(const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef /*kernel_size*/,
                              const MaybeTensor& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                              at::IntArrayRef dilation) {
    return convolve(self, weight, bias, stride, padding, dilation);
}

at::Tensor depthwiseConvolution(const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef /*kernel_size*/,
                                const MaybeTensor& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                                at::IntArrayRef dilation) {
    const int64_t channels = self.size(self.dim() == weight.dim() ? 1 : 0);
    return convolve(self, weight, bias, stride, padding, dilation, channels);
}

void slowConvTranspose2d(at::Tensor& out, const at::Tensor& self, const at::Tensor& weight,
                         at::IntArrayRef /*kernel_size*/, const MaybeTensor& bias, at::IntArrayRef stride,
                         at::IntArrayRef padding, at::IntArrayRef output_padding, at::IntArrayRef dilation) {
    out.copy_(transposedConvolution(self, weight, bias, stride, padding, output_padding, dilation));
}

at::Tensor slowConvTranspose3d(const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef /*kernel_size*/,
                               const MaybeTensor& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                               at::IntArrayRef output_padding, at::IntArrayRef dilation) {
    return transposedConvolution(self, weight, bias, stride, padding, output_padding, dilation);
}

}  // namespace diopigen::backend::kernels
