// Normalisation of each sample by itself: over trailing dimensions, by groups of channels, by the root mean square; and
// softmax.
#include <ATen/OpMathType.h>
#include <ATen/native/layer_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <diopigen_torch/call.h>

#include <limits>
#include <vector>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

at::Tensor or_none(const MaybeTensor& tensor) { return tensor.value_or(at::Tensor()); }

// The interface has one dtype for the input and its parameters: where they differ, the wider one.
at::ScalarType common(const at::Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias = std::nullopt) {
    at::ScalarType type = input.scalar_type();
    for (const MaybeTensor* parameter : {&weight, &bias}) {
        type = is_defined(*parameter) ? at::promoteTypes(type, (*parameter)->scalar_type()) : type;
    }
    return type;
}

// As on the CPU: parameters have one dtype, the input's, or float32 for an input in half precision.
at::ScalarType checked_common(const at::Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias) {
    const at::ScalarType type = common(input, weight, bias);
    const bool may_be_float = at::isReducedFloatingType(input.scalar_type()) && type == at::kFloat;
    for (const MaybeTensor* parameter : {&weight, &bias}) {
        TORCH_CHECK(!is_defined(*parameter) || (*parameter)->scalar_type() == type,
                    "mixed dtype: expected parameters of ", type, ", found ", (*parameter)->scalar_type());
    }
    TORCH_CHECK(type == input.scalar_type() || may_be_float, "mixed dtype: expected an input of ", type, ", found ",
                input.scalar_type());
    return type;
}

// Sizes of statistics: those of the input, with 1 for each dimension that is normalised.
std::vector<int64_t> outer(const at::Tensor& input, at::IntArrayRef normalized) {
    std::vector<int64_t> sizes = input.sizes().vec();
    std::fill(sizes.end() - static_cast<int64_t>(normalized.size()), sizes.end(), 1);
    return sizes;
}

at::TensorOptions statistics(const at::Tensor& input) {
    return input.options().dtype(at::toOpMathType(input.scalar_type()));
}

at::Tensor contiguous_like(const at::Tensor& tensor) { return at::empty_like(tensor, at::MemoryFormat::Contiguous); }

// A gradient that may not be wanted: the temporary that a function of the interface writes, and its conversion.
class Gradient {
  public:
    Gradient(bool is_requested, const at::Tensor& like, at::ScalarType type) {
        if (is_requested && like.defined()) {
            tensor_ = contiguous_like(like);
            output_.emplace(tensor_, type);
        }
    }
    operator diopiTensorHandle_t() const {
        return output_.has_value() ? static_cast<diopiTensorHandle_t>(*output_) : nullptr;
    }
    at::Tensor finish() {
        if (output_.has_value()) {
            output_->finish();
        }
        return tensor_;
    }

  private:
    at::Tensor tensor_;
    std::optional<Output> output_;
};

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> native_layer_norm(const at::Tensor& input,
                                                                 at::IntArrayRef normalized_shape,
                                                                 const MaybeTensor& weight, const MaybeTensor& bias,
                                                                 double eps) {
    at::native::_check_layer_norm_inputs(input, normalized_shape, or_none(weight), or_none(bias));
    at::Tensor out = contiguous_like(input);
    const std::vector<int64_t> sizes_of_mean = outer(input, normalized_shape);
    at::Tensor mean = at::empty(sizes_of_mean, statistics(input));
    at::Tensor deviation = at::empty(sizes_of_mean, statistics(input));
    const at::ScalarType type = checked_common(input, weight, bias);
    Call call(input);
    Output written(out, type);
    call("diopiLayerNorm", diopiLayerNorm, written, Output(mean), Output(deviation),
         Input(call, input, type, kFloating), OptionalInput(call, weight, type), OptionalInput(call, bias, type),
         sizes(normalized_shape), eps);
    written.finish();
    return {std::move(out), std::move(mean), std::move(deviation)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> native_layer_norm_backward(
    const at::Tensor& grad_out, const at::Tensor& input, at::IntArrayRef normalized_shape, const at::Tensor& mean,
    const at::Tensor& rstd, const MaybeTensor& weight, const MaybeTensor& bias, std::array<bool, 3> output_mask) {
    const at::ScalarType type = common(input, weight, bias);
    Call call(input);
    Gradient grad_input(true, input, type);
    Gradient grad_weight(output_mask[1], or_none(weight), type);
    Gradient grad_bias(output_mask[2], or_none(bias), type);
    const at::ScalarType wide = at::toOpMathType(input.scalar_type());
    call("diopiLayerNormBackward", diopiLayerNormBackward, grad_input, grad_weight, grad_bias,
         Input(call, grad_out, type), Input(call, input, type, kFloating), OptionalInput(call, weight, type),
         OptionalInput(call, bias, type), Input(call, mean, wide), Input(call, rstd, wide), sizes(normalized_shape));
    return {output_mask[0] ? grad_input.finish() : at::Tensor(), grad_weight.finish(), grad_bias.finish()};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> native_group_norm(const at::Tensor& input, const MaybeTensor& weight,
                                                                 const MaybeTensor& bias, int64_t samples,
                                                                 int64_t channels, int64_t pixels, int64_t group,
                                                                 double eps) {
    TORCH_CHECK(group > 0 && channels % group == 0,
                "Expected number of channels in input to be divisible by num_groups, but ", "got ", channels,
                " channels and num_groups=", group);
    for (const MaybeTensor* parameter : {&weight, &bias}) {
        TORCH_CHECK(!is_defined(*parameter) || (*parameter)->sizes() == at::IntArrayRef({channels}),
                    "Expected weight and bias to be vectors of ", channels, " channels, but got one of shape ",
                    (*parameter)->sizes());
    }
    TORCH_CHECK(input.numel() == samples * channels * pixels, "Expected an input of ", samples, " x ", channels, " x ",
                pixels, " elements");
    if (input.dim() < 2 || input.size(0) != samples || input.size(1) != channels) {
        fall_back("the interface reads samples and channels off the shape");
    }
    at::Tensor out = at::empty_like(input, input.suggest_memory_format());
    at::Tensor mean = at::empty({samples, group}, statistics(input));
    at::Tensor deviation = at::empty({samples, group}, statistics(input));
    const at::ScalarType type = checked_common(input, weight, bias);
    Call call(input);
    Output written(out, type);
    call("diopiGroupNorm", diopiGroupNorm, written, Output(mean), Output(deviation),
         Input(call, input, type, kFloating), OptionalInput(call, weight, type), OptionalInput(call, bias, type), group,
         eps);
    written.finish();
    return {std::move(out), std::move(mean), std::move(deviation)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> native_group_norm_backward(
    const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& rstd,
    const MaybeTensor& weight, int64_t samples, int64_t channels, int64_t /*pixels*/, int64_t group,
    std::array<bool, 3> output_mask) {
    if (input.dim() < 2 || input.size(0) != samples || input.size(1) != channels) {
        fall_back("the interface reads samples and channels off the shape");
    }
    TORCH_CHECK(grad_out.scalar_type() == input.scalar_type(), "Expected a gradient of ", input.scalar_type(),
                ", found ", grad_out.scalar_type());
    const at::ScalarType type = common(input, weight);
    const at::ScalarType wide = at::toOpMathType(input.scalar_type());
    for (const at::Tensor* statistic : {&mean, &rstd}) {
        TORCH_CHECK(at::promoteTypes(statistic->scalar_type(), wide) == wide, "Expected statistics of ", wide,
                    ", found ", statistic->scalar_type());
    }
    Call call(input);
    const at::Tensor parameter =
        is_defined(weight) ? *weight
                           : at::empty({channels}, input.options().memory_format(at::MemoryFormat::Contiguous));
    Gradient grad_input(true, input, type);
    Gradient grad_weight(output_mask[1], parameter, type);
    Gradient grad_bias(output_mask[2], parameter, type);
    call("diopiGroupNormBackward", diopiGroupNormBackward, grad_input, grad_weight, grad_bias,
         Input(call, grad_out, type), Input(call, input, type, kFloating), OptionalInput(call, weight, type),
         Input(call, mean.view({samples, group}), wide), Input(call, rstd.view({samples, group}), wide), group);
    return {output_mask[0] ? grad_input.finish() : at::Tensor(), grad_weight.finish(), grad_bias.finish()};
}

std::tuple<at::Tensor, at::Tensor> fused_rms_norm(const at::Tensor& input, at::IntArrayRef normalized_shape,
                                                  const MaybeTensor& weight, std::optional<double> eps) {
    at::native::_check_rms_norm_inputs_symint(input, c10::fromIntArrayRefSlow(normalized_shape), or_none(weight));
    at::Tensor out = contiguous_like(input);
    at::Tensor scale = at::empty(outer(input, normalized_shape), statistics(input));
    const at::ScalarType type = common(input, weight);
    const bool is_double = scale.scalar_type() == at::kDouble;
    const double added = eps.value_or(is_double ? std::numeric_limits<double>::epsilon()
                                                : static_cast<double>(std::numeric_limits<float>::epsilon()));
    Call call(input);
    Output written(out, type);
    call("diopiRMSNorm", diopiRMSNorm, written, Output(scale), Input(call, input, type, kFloating),
         sizes(normalized_shape), OptionalInput(call, weight, type), OptionalInput(call, std::nullopt), added);
    written.finish();
    return {std::move(out), std::move(scale)};
}

std::tuple<at::Tensor, at::Tensor> fused_rms_norm_backward(const at::Tensor& grad_out, const at::Tensor& input,
                                                           at::IntArrayRef normalized_shape, const at::Tensor& rstd,
                                                           const MaybeTensor& weight, std::array<bool, 2> output_mask) {
    const at::ScalarType type = common(input, weight);
    Call call(input);
    Gradient grad_input(true, input, type);
    Gradient grad_weight(output_mask[1], or_none(weight), type);
    const OptionalInput none(call, std::nullopt);
    call("diopiRMSNormBackward", diopiRMSNormBackward, grad_input, grad_weight, nullptr, Input(call, grad_out, type),
         Input(call, input, type, kFloating), OptionalInput(call, weight, type), none,
         Input(call, rstd, at::toOpMathType(input.scalar_type())), sizes(normalized_shape), 0.0);
    return {output_mask[0] ? grad_input.finish() : at::Tensor(), grad_weight.finish()};
}

}  // namespace diopigen::backend::kernels
