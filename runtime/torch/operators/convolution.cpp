// Convolutions. PyTorch brings every call to one overload; the rank and `transposed` choose the function.
#include <ATen/native/ConvUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <diopigen_torch/call.h>

#include <array>
#include <vector>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

// The interface has functions for 2 and 3 dimensions; one of them is none of ours.
constexpr int64_t kPlane = 4;

std::vector<int64_t> output_size(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef stride,
                                 at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                                 at::IntArrayRef output_padding, int64_t groups) {
    if (!transposed) {
        return at::native::conv_output_size(input.sizes(), weight.sizes(), padding, stride, dilation);
    }
    std::vector<int64_t> size{input.size(0), weight.size(1) * groups};
    for (size_t i = 0; i < stride.size(); ++i) {
        const auto dimension = static_cast<int64_t>(i) + 2;
        const int64_t kernel = dilation[i] * (weight.size(dimension) - 1) + 1;
        size.push_back((input.size(dimension) - 1) * stride[i] - 2 * padding[i] + kernel + output_padding[i]);
    }
    return size;
}

// A row is a plane of height 1: what is said of one dimension, for two.
struct Plane {
    Plane(at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, at::IntArrayRef output_padding)
        : stride{1, stride[0]},
          padding{0, padding[0]},
          dilation{1, dilation[0]},
          output_padding{0, output_padding[0]} {}
    std::array<int64_t, 2> stride;
    std::array<int64_t, 2> padding;
    std::array<int64_t, 2> dilation;
    std::array<int64_t, 2> output_padding;
};

constexpr int64_t kHeight = 2;

at::Tensor squeezed(const at::Tensor& tensor) { return tensor.defined() ? tensor.squeeze(kHeight) : tensor; }

// PyTorch checks this for the names that its users call, not for those of its kernels.
void require_dimensions(const at::Tensor& input, const at::Tensor& weight, std::array<at::IntArrayRef, 4> each) {
    TORCH_CHECK(input.dim() >= 3 && weight.dim() == input.dim(), "convolution: input has ", input.dim(),
                " dimensions and weight ", weight.dim());
    for (const at::IntArrayRef values : each) {
        TORCH_CHECK(static_cast<int64_t>(values.size()) == input.dim() - 2,
                    "convolution: stride, padding, dilation and "
                    "output_padding have one value for each dimension of an input of sizes ",
                    input.sizes(), ", not ", values);
    }
}

at::MemoryFormat format_of(const at::Tensor& input, const at::Tensor& weight) {
    const at::MemoryFormat last =
        input.dim() == kPlane ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::ChannelsLast3d;
    const bool is_last = input.suggest_memory_format() == last || weight.suggest_memory_format() == last;
    return is_last ? last : at::MemoryFormat::Contiguous;
}

}  // namespace

at::Tensor convolution_overrideable(const at::Tensor& input, const at::Tensor& weight,
                                    const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                                    at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                                    at::IntArrayRef output_padding, int64_t groups) {
    require_dimensions(input, weight, {stride, padding, dilation, output_padding});
    if (input.dim() == 3) {
        const Plane plane(stride, padding, dilation, output_padding);
        return squeezed(kernels::convolution_overrideable(input.unsqueeze(kHeight), weight.unsqueeze(kHeight), bias,
                                                          plane.stride, plane.padding, plane.dilation, transposed,
                                                          plane.output_padding, groups));
    }
    Call call(input);
    at::Tensor out =
        at::empty(output_size(input, weight, stride, padding, dilation, transposed, output_padding, groups),
                  input.options().memory_format(format_of(input, weight)));
    require_same_dtype(input, weight);
    require_same_dtype(input, bias);
    const Input operand(call, input, kFloating);
    const Input kernel(call, weight);
    const OptionalInput added(call, bias);
    const bool is_plane = input.dim() == kPlane;
    if (transposed) {
        call(is_plane ? "diopiConvTranspose2d" : "diopiConvTranspose3d",
             is_plane ? diopiConvTranspose2d : diopiConvTranspose3d, Output(out), operand, kernel, added, sizes(stride),
             sizes(padding), sizes(output_padding), groups, sizes(dilation));
    } else {
        call(is_plane ? "diopiConvolution2d" : "diopiConvolution3d", is_plane ? diopiConvolution2d : diopiConvolution3d,
             Output(out), operand, kernel, added, sizes(stride), sizes(padding), sizes(dilation), groups);
    }
    return out;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward_overrideable(
    const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef stride,
    at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed, at::IntArrayRef output_padding, int64_t groups,
    std::array<bool, 3> output_mask) {
    require_dimensions(input, weight, {stride, padding, dilation, output_padding});
    if (input.dim() == 3) {
        const Plane plane(stride, padding, dilation, output_padding);
        const auto [grad_input, grad_weight, grad_bias] = kernels::convolution_backward_overrideable(
            grad_output.unsqueeze(kHeight), input.unsqueeze(kHeight), weight.unsqueeze(kHeight), plane.stride,
            plane.padding, plane.dilation, transposed, plane.output_padding, groups, output_mask);
        return {squeezed(grad_input), squeezed(grad_weight), grad_bias};
    }
    Call call(input);
    const auto format = format_of(input, weight);
    at::Tensor grad_input = output_mask[0] ? at::empty_like(input, format) : at::Tensor();
    at::Tensor grad_weight = output_mask[1] ? at::empty_like(weight, format) : at::Tensor();
    const int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
    at::Tensor grad_bias = output_mask[2] ? at::empty({channels}, weight.options()) : at::Tensor();
    require_same_dtype(input, grad_output);
    require_same_dtype(input, weight);
    const Input gradient(call, grad_output);
    const Input operand(call, input, kFloating);
    const Input kernel(call, weight);
    diopiSize_t bias_sizes = sizes(channels);
    diopiSize_t* const bias_size = output_mask[2] ? &bias_sizes : nullptr;
    const bool is_plane = input.dim() == kPlane;
    if (transposed) {
        call(is_plane ? "diopiConvTranspose2dBackward" : "diopiConvTranspose3dBackward",
             is_plane ? diopiConvTranspose2dBackward : diopiConvTranspose3dBackward, optional(grad_input),
             optional(grad_weight), optional(grad_bias), gradient, operand, kernel, bias_size, sizes(stride),
             sizes(padding), sizes(dilation), sizes(output_padding), groups);
    } else {
        call(is_plane ? "diopiConvolution2dBackward" : "diopiConvolution3dBackward",
             is_plane ? diopiConvolution2dBackward : diopiConvolution3dBackward, optional(grad_input),
             optional(grad_weight), optional(grad_bias), gradient, operand, kernel, bias_size, sizes(stride),
             sizes(padding), sizes(dilation), groups);
    }
    return {grad_input, grad_weight, grad_bias};
}

}  // namespace diopigen::backend::kernels
