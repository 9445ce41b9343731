// Batch normalisation, in the many forms that PyTorch asks for it. Statistics of float16 and bfloat16 are float32, as
// on CUDA.
#include <ATen/OpMathType.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <diopigen_torch/call.h>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

int64_t channels_of(const at::Tensor& input) {
    TORCH_CHECK(input.dim() >= 2, "Expected an input of at least 2 dimensions, but got one of ", input.dim());
    return input.size(1);
}

at::Tensor statistic(const at::Tensor& input, int64_t channels) {
    return at::empty({channels}, input.options().dtype(at::toOpMathType(input.scalar_type())));
}

at::Tensor empty_in_format_of(const at::Tensor& input) { return at::empty_like(input, input.suggest_memory_format()); }

// Of the running statistics: they are read and written, and may not be there.
template <typename Tensor>
diopiTensorHandle_t running(const Tensor& tensor) {
    if (!is_defined(tensor)) {
        return nullptr;
    }
    if constexpr (std::is_same_v<Tensor, MaybeTensor>) {
        return handle(const_cast<at::Tensor&>(*tensor));
    } else {
        return handle(const_cast<at::Tensor&>(tensor));
    }
}

void require_parameter(const char* name, const at::Tensor& input, const MaybeTensor& parameter) {
    const at::ScalarType type = input.scalar_type();
    if (!is_in(kFloating, type)) {
        fall_back_for_dtype(type);
    }
    TORCH_CHECK(!is_defined(parameter) || parameter->scalar_type() == type ||
                    (at::isReducedFloatingType(type) && parameter->scalar_type() == at::kFloat),
                "Expected ", name, " to have type ", type, " but got ", parameter->scalar_type());
}

template <typename Tensor>
void normalize(at::Tensor& out, at::Tensor& mean, at::Tensor& deviation, const at::Tensor& input,
               const MaybeTensor& weight, const MaybeTensor& bias, const Tensor& running_mean,
               const Tensor& running_var, bool training, double momentum, double eps) {
    TORCH_CHECK(training || (is_defined(running_mean) && is_defined(running_var)),
                "running_mean and running_var must be defined in evaluation mode");
    require_parameter("weight", input, weight);
    require_parameter("bias", input, bias);
    if (is_defined(running_mean) != is_defined(running_var)) {
        fall_back("the interface keeps both running statistics or none");
    }
    Call call(input);
    call("diopiBatchNorm", diopiBatchNorm, Output(out), Output(mean), Output(deviation), Input(call, input, kFloating),
         OptionalInput(call, weight, kFloating), OptionalInput(call, bias, kFloating), running(running_mean),
         running(running_var), training, momentum, eps);
}

template <typename Tensor>
std::tuple<at::Tensor, at::Tensor, at::Tensor> normalized(const at::Tensor& input, const MaybeTensor& weight,
                                                          const MaybeTensor& bias, const Tensor& running_mean,
                                                          const Tensor& running_var, bool training, double momentum,
                                                          double eps) {
    const int64_t channels = channels_of(input);
    at::Tensor out = empty_in_format_of(input);
    at::Tensor mean = statistic(input, channels);
    at::Tensor deviation = statistic(input, channels);
    normalize(out, mean, deviation, input, weight, bias, running_mean, running_var, training, momentum, eps);
    if (!training) {
        // Matches PyTorch's results.
        mean = statistic(input, 0);
        deviation = statistic(input, 0);
    }
    return {std::move(out), std::move(mean), std::move(deviation)};
}

at::Tensor gradient(bool is_requested, const at::Tensor& like) {
    return is_requested ? empty_in_format_of(like) : at::Tensor();
}

at::Tensor vector_gradient(bool is_requested, const at::Tensor& input, const MaybeTensor& weight) {
    const at::ScalarType type = is_defined(weight) ? weight->scalar_type() : input.scalar_type();
    return is_requested ? at::empty({channels_of(input)}, input.options().dtype(type)) : at::Tensor();
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> native_batch_norm(const at::Tensor& input, const MaybeTensor& weight,
                                                                 const MaybeTensor& bias,
                                                                 const MaybeTensor& running_mean,
                                                                 const MaybeTensor& running_var, bool training,
                                                                 double momentum, double eps) {
    return normalized(input, weight, bias, running_mean, running_var, training, momentum, eps);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> native_batch_norm_legit(
    const at::Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias, at::Tensor& running_mean,
    at::Tensor& running_var, bool training, double momentum, double eps) {
    return normalized(input, weight, bias, running_mean, running_var, training, momentum, eps);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> native_batch_norm_legit_no_stats(const at::Tensor& input,
                                                                                const MaybeTensor& weight,
                                                                                const MaybeTensor& bias, bool training,
                                                                                double momentum, double eps) {
    return normalized(input, weight, bias, at::Tensor(), at::Tensor(), training, momentum, eps);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> batch_norm_with_update(
    const at::Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias, at::Tensor& running_mean,
    at::Tensor& running_var, double momentum, double eps) {
    auto [out, mean, deviation] = normalized(input, weight, bias, running_mean, running_var, true, momentum, eps);
    return {std::move(out), std::move(mean), std::move(deviation), at::empty({0}, input.options().dtype(at::kByte))};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> native_batch_norm_backward(
    const at::Tensor& grad_out, const at::Tensor& input, const MaybeTensor& weight, const MaybeTensor& running_mean,
    const MaybeTensor& running_var, const MaybeTensor& save_mean, const MaybeTensor& save_invstd, bool train,
    double eps, std::array<bool, 3> output_mask) {
    Call call(input);
    // The interface always writes the gradient of the input.
    at::Tensor grad_input = gradient(true, input);
    at::Tensor grad_weight = vector_gradient(output_mask[1], input, weight);
    at::Tensor grad_bias = vector_gradient(output_mask[2], input, weight);
    // In evaluation PyTorch has empty statistics of the batch.
    const MaybeTensor none;
    const at::ScalarType type = at::toOpMathType(input.scalar_type());
    call("diopiBatchNormBackward", diopiBatchNormBackward, Output(grad_input), optional(grad_weight),
         optional(grad_bias), Input(call, grad_out, input.scalar_type()), Input(call, input, kFloating),
         OptionalInput(call, weight, kFloating), OptionalInput(call, running_mean, kFloating),
         OptionalInput(call, running_var, kFloating), OptionalInput(call, train ? save_mean : none, type),
         OptionalInput(call, train ? save_invstd : none, type), train, eps);
    return {output_mask[0] ? std::move(grad_input) : at::Tensor(), std::move(grad_weight), std::move(grad_bias)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm_backward(
    const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& weight, const MaybeTensor& running_mean,
    const MaybeTensor& running_var, const MaybeTensor& save_mean, const MaybeTensor& save_var, bool update, double eps,
    std::array<bool, 3> output_mask, const at::Tensor& /*reserve*/) {
    return kernels::native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_var,
                                               update, eps, output_mask);
}

std::tuple<at::Tensor, at::Tensor> batch_norm_stats(const at::Tensor& input, double eps) {
    const int64_t channels = channels_of(input);
    at::Tensor mean = statistic(input, channels);
    at::Tensor deviation = statistic(input, channels);
    Call call(input);
    call("diopiBatchNormStats", diopiBatchNormStats, Output(mean), Output(deviation), Input(call, input, kFloating),
         eps);
    return {std::move(mean), std::move(deviation)};
}

at::Tensor batch_norm_elemt(const at::Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
                            const at::Tensor& mean, const at::Tensor& invstd, double eps) {
    at::Tensor out = empty_in_format_of(input);
    Call call(input);
    call("diopiBatchNormElemt", diopiBatchNormElemt, Output(out), Input(call, input, kFloating),
         OptionalInput(call, weight, kFloating), OptionalInput(call, bias, kFloating), Input(call, mean),
         Input(call, invstd), eps);
    return out;
}

std::tuple<at::Tensor, at::Tensor> batch_norm_gather_stats_with_counts(const at::Tensor& input, const at::Tensor& mean,
                                                                       const at::Tensor& invstd,
                                                                       const MaybeTensor& running_mean,
                                                                       const MaybeTensor& running_var, double momentum,
                                                                       double eps, const at::Tensor& counts) {
    const int64_t channels = mean.size(1);
    at::Tensor all = statistic(input, channels);
    at::Tensor deviation = statistic(input, channels);
    const at::ScalarType type = all.scalar_type();
    const at::Tensor flat = counts.reshape({-1});  // SyncBatchNorm has a column
    Call call(input);
    call("diopiBatchNormGatherStatsWithCounts", diopiBatchNormGatherStatsWithCounts, Output(all), Output(deviation),
         Input(call, input, kFloating), Input(call, mean, type), Input(call, invstd, type), running(running_mean),
         running(running_var), momentum, eps, Input(call, flat, kFloating));
    return {std::move(all), std::move(deviation)};
}

std::tuple<at::Tensor, at::Tensor> batch_norm_gather_stats(const at::Tensor& input, const at::Tensor& mean,
                                                           const at::Tensor& invstd, const MaybeTensor& running_mean,
                                                           const MaybeTensor& running_var, double momentum, double eps,
                                                           int64_t count) {
    const auto options = input.options().dtype(at::toOpMathType(input.scalar_type()));
    return kernels::batch_norm_gather_stats_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps,
                                                        at::full({mean.size(0)}, count, options));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> batch_norm_backward_reduce(
    const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
    const MaybeTensor& weight, bool input_g, bool weight_g, bool bias_g) {
    const int64_t channels = channels_of(input);
    at::Tensor sum = input_g ? statistic(input, channels) : at::Tensor();
    at::Tensor product = input_g ? statistic(input, channels) : at::Tensor();
    at::Tensor grad_weight = vector_gradient(weight_g, input, weight);
    at::Tensor grad_bias = vector_gradient(bias_g, input, weight);
    Call call(input);
    call("diopiBatchNormBackwardReduce", diopiBatchNormBackwardReduce, optional(sum), optional(product),
         optional(grad_weight), optional(grad_bias), Input(call, grad_out, input.scalar_type()),
         Input(call, input, kFloating), Input(call, mean), Input(call, invstd), OptionalInput(call, weight, kFloating),
         input_g, weight_g, bias_g);
    return {std::move(sum), std::move(product), std::move(grad_weight), std::move(grad_bias)};
}

at::Tensor batch_norm_backward_elemt(const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean,
                                     const at::Tensor& invstd, const MaybeTensor& weight, const at::Tensor& sum_dy,
                                     const at::Tensor& sum_dy_xmu, const at::Tensor& count) {
    at::Tensor grad_input = gradient(true, input);
    const at::Tensor flat = count.reshape({-1});
    Call call(input);
    call("diopiBatchNormBackwardElemt", diopiBatchNormBackwardElemt, Output(grad_input),
         Input(call, grad_out, input.scalar_type()), Input(call, input, kFloating), Input(call, mean),
         Input(call, invstd), OptionalInput(call, weight, kFloating), Input(call, sum_dy), Input(call, sum_dy_xmu),
         Input(call, flat, at::kInt));
    return grad_input;
}

}  // namespace diopigen::backend::kernels
