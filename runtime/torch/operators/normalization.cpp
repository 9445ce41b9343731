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

at::Tensor orNone(const MaybeTensor& tensor) { return tensor.value_or(at::Tensor()); }

// The interface has one dtype for the input and its parameters: where they differ, the wider one.
at::ScalarType common(const at::Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias = std::nullopt) {
    at::ScalarType type = input.scalar_type();
    for (const MaybeTensor* parameter : {&weight, &bias}) {
        type = isDefined(*parameter) ? at::promoteTypes(type, (*parameter)->scalar_type()) : type;
    }
    return type;
}

// As on the CPU: parameters have one dtype, the input's, or float32 for an input in half precision.
at::ScalarType checkedCommon(const at::Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias) {
    const at::ScalarType type = common(input, weight, bias);
    const bool mayBeFloat = at::isReducedFloatingType(input.scalar_type()) && type == at::kFloat;
    for (const MaybeTensor* parameter : {&weight, &bias}) {
        TORCH_CHECK(!isDefined(*parameter) || (*parameter)->scalar_type() == type,
                    "mixed dtype: expected parameters of ", type, ", found ", (*parameter)->scalar_type());
    }
    TORCH_CHECK(type == input.scalar_type() || mayBeFloat, "mixed dtype: expected an input of ", type, ", found ",
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

at::Tensor emptyLike(const at::Tensor& tensor) { return at::empty_like(tensor, at::MemoryFormat::Contiguous); }

// A gradient that may not be wanted: the temporary that a function of the interface writes, and its conversion.
class Gradient {
  public:
    Gradient(bool isRequested, const at::Tensor& like, at::ScalarType type) {
        if (isRequested && like.defined()) {
            tensor_ = emptyLike(like);
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

std::tuple<at::Tensor, at::Tensor, at::Tensor> nativeLayerNorm(const at::Tensor& input,
                                                               at::IntArrayRef normalized_shape,
                                                               const MaybeTensor& weight, const MaybeTensor& bias,
                                                               double eps) {
    at::native::_check_layer_norm_inputs(input, normalized_shape, orNone(weight), orNone(bias));
    at::Tensor out = emptyLike(input);
    const std::vector<int64_t> sizesOfMean = outer(input, normalized_shape);
    at::Tensor mean = at::empty(sizesOfMean, statistics(input));
    at::Tensor deviation = at::empty(sizesOfMean, statistics(input));
    const at::ScalarType type = checkedCommon(input, weight, bias);
    Call call(input);
    Output written(out, type);
    call("diopiLayerNorm", diopiLayerNorm, written, Output(mean), Output(deviation),
         Input(call, input, type, kFloating), OptionalInput(call, weight, type), OptionalInput(call, bias, type),
         sizes(normalized_shape), eps);
    written.finish();
    return {std::move(out), std::move(mean), std::move(deviation)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> nativeLayerNormBackward(
    const at::Tensor& grad_out, const at::Tensor& input, at::IntArrayRef normalized_shape, const at::Tensor& mean,
    const at::Tensor& rstd, const MaybeTensor& weight, const MaybeTensor& bias, std::array<bool, 3> output_mask) {
    const at::ScalarType type = common(input, weight, bias);
    Call call(input);
    Gradient gradInput(true, input, type);
    Gradient gradWeight(output_mask[1], orNone(weight), type);
    Gradient gradBias(output_mask[2], orNone(bias), type);
    const at::ScalarType wide = at::toOpMathType(input.scalar_type());
    call("diopiLayerNormBackward", diopiLayerNormBackward, gradInput, gradWeight, gradBias, Input(call, grad_out, type),
         Input(call, input, type, kFloating), OptionalInput(call, weight, type), OptionalInput(call, bias, type),
         Input(call, mean, wide), Input(call, rstd, wide), sizes(normalized_shape));
    return {output_mask[0] ? gradInput.finish() : at::Tensor(), gradWeight.finish(), gradBias.finish()};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> nativeGroupNorm(const at::Tensor& input, const MaybeTensor& weight,
                                                               const MaybeTensor& bias, int64_t N, int64_t C,
                                                               int64_t HxW, int64_t group, double eps) {
    TORCH_CHECK(group > 0 && C % group == 0, "Expected number of channels in input to be divisible by num_groups, but ",
                "got ", C, " channels and num_groups=", group);
    for (const MaybeTensor* parameter : {&weight, &bias}) {
        TORCH_CHECK(!isDefined(*parameter) || (*parameter)->sizes() == at::IntArrayRef({C}),
                    "Expected weight and bias to be vectors of ", C, " channels, but got one of shape ",
                    (*parameter)->sizes());
    }
    TORCH_CHECK(input.numel() == N * C * HxW, "Expected an input of ", N, " x ", C, " x ", HxW, " elements");
    if (input.dim() < 2 || input.size(0) != N || input.size(1) != C) {
        fallBack("the interface reads samples and channels off the shape");
    }
    at::Tensor out = at::empty_like(input, input.suggest_memory_format());
    at::Tensor mean = at::empty({N, group}, statistics(input));
    at::Tensor deviation = at::empty({N, group}, statistics(input));
    const at::ScalarType type = checkedCommon(input, weight, bias);
    Call call(input);
    Output written(out, type);
    call("diopiGroupNorm", diopiGroupNorm, written, Output(mean), Output(deviation),
         Input(call, input, type, kFloating), OptionalInput(call, weight, type), OptionalInput(call, bias, type), group,
         eps);
    written.finish();
    return {std::move(out), std::move(mean), std::move(deviation)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> nativeGroupNormBackward(
    const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& rstd,
    const MaybeTensor& weight, int64_t N, int64_t C, int64_t /*HxW*/, int64_t group, std::array<bool, 3> output_mask) {
    if (input.dim() < 2 || input.size(0) != N || input.size(1) != C) {
        fallBack("the interface reads samples and channels off the shape");
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
        isDefined(weight) ? *weight : at::empty({C}, input.options().memory_format(at::MemoryFormat::Contiguous));
    Gradient gradInput(true, input, type);
    Gradient gradWeight(output_mask[1], parameter, type);
    Gradient gradBias(output_mask[2], parameter, type);
    call("diopiGroupNormBackward", diopiGroupNormBackward, gradInput, gradWeight, gradBias, Input(call, grad_out, type),
         Input(call, input, type, kFloating), OptionalInput(call, weight, type),
         Input(call, mean.view({N, group}), wide), Input(call, rstd.view({N, group}), wide), group);
    return {output_mask[0] ? gradInput.finish() : at::Tensor(), gradWeight.finish(), gradBias.finish()};
}

std::tuple<at::Tensor, at::Tensor> fusedRmsNorm(const at::Tensor& input, at::IntArrayRef normalized_shape,
                                                const MaybeTensor& weight, std::optional<double> eps) {
    at::native::_check_rms_norm_inputs_symint(input, c10::fromIntArrayRefSlow(normalized_shape), orNone(weight));
    at::Tensor out = emptyLike(input);
    at::Tensor scale = at::empty(outer(input, normalized_shape), statistics(input));
    const at::ScalarType type = common(input, weight);
    const bool isDouble = scale.scalar_type() == at::kDouble;
    const double added = eps.value_or(isDouble ? std::numeric_limits<double>::epsilon()
                                               : static_cast<double>(std::numeric_limits<float>::epsilon()));
    Call call(input);
    Output written(out, type);
    call("diopiRMSNorm", diopiRMSNorm, written, Output(scale), Input(call, input, type, kFloating),
         sizes(normalized_shape), OptionalInput(call, weight, type), OptionalInput(call, std::nullopt), added);
    written.finish();
    return {std::move(out), std::move(scale)};
}

std::tuple<at::Tensor, at::Tensor> fusedRmsNormBackward(const at::Tensor& grad_out, const at::Tensor& input,
                                                        at::IntArrayRef normalized_shape, const at::Tensor& rstd,
                                                        const MaybeTensor& weight, std::array<bool, 2> output_mask) {
    const at::ScalarType type = common(input, weight);
    Call call(input);
    Gradient gradInput(true, input, type);
    Gradient gradWeight(output_mask[1], orNone(weight), type);
    const OptionalInput none(call, std::nullopt);
    call("diopiRMSNormBackward", diopiRMSNormBackward, gradInput, gradWeight, nullptr, Input(call, grad_out, type),
         Input(call, input, type, kFloating), OptionalInput(call, weight, type), none,
         Input(call, rstd, at::toOpMathType(input.scalar_type())), sizes(normalized_shape), 0.0);
    return {output_mask[0] ? gradInput.finish() : at::Tensor(), gradWeight.finish()};
}

}  // namespace diopigen::backend::kernels
