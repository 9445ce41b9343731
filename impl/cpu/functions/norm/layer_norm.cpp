// LayerNorm and LayerNormGB with their gradients: statistics over the trailing dimensions, in double.
#include <diopi/functions.h>

#include "kernels.h"
#include "trailing.h"

using namespace diopi::cpu;

namespace {

constexpr const char* kAxisRule = "begin_norm_axis is a dimension of input";

Trailing trailing_from(const Tensor& input, int64_t axis) {
    require(input.rank > 0 && axis >= -input.rank && axis < input.rank, kAxisRule);
    return Trailing(input, axis < 0 ? axis + input.rank : axis);
}

void layer_norm(const Tensor& out, const Tensor& mean, const Tensor& invstd, const Tensor& input, const Tensor& weight,
                const Tensor& bias, const Trailing& parts, double eps) {
    require_same_dtype(out, input);
    require_same_shape(out, input);
    for (const Tensor* factor : {&weight, &bias}) {
        require_factor_dtype(*factor, input);
        require_shape(*factor, parts.inner_shape);
    }
    require_shape(mean, parts.statistics_shape);
    require_shape(invstd, parts.statistics_shape);
    require_separate({&out, &mean, &invstd}, {&weight, &bias});
    require_separate({&mean, &invstd}, {&input});
    require_no_overlap(out, input);
    require_one_device({&out, &input});
    normalise_rows(out, mean, invstd, input, weight, bias, parts, eps);
}

void layer_norm_backward(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                         const Tensor& grad_output, const Tensor& input, const Tensor& weight, const Tensor& bias,
                         const Tensor& mean, const Tensor& invstd, const Trailing& parts) {
    require_same_shape(grad_input, input);
    require_same_shape(grad_output, input);
    require_same_dtype(grad_input, input);
    require_same_dtype(grad_output, input);
    for (const Tensor* factor : {&weight, &bias, &grad_weight, &grad_bias}) {
        require_factor_dtype(*factor, input);
        require_shape(*factor, parts.inner_shape);
    }
    require_shape(mean, parts.statistics_shape);
    require_shape(invstd, parts.statistics_shape);
    require_separate({&grad_input, &grad_weight, &grad_bias}, {&grad_output, &input, &weight, &bias, &mean, &invstd});
    row_gradients(grad_input, grad_weight, grad_bias, grad_output, input, weight, mean, invstd, parts);
}

}  // namespace

DIOPI_API diopiError_t diopiLayerNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiTensorHandle_t save_mean,
                                      diopiTensorHandle_t save_invstd, diopiConstTensorHandle_t input,
                                      diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                                      diopiSize_t normalized_shape, double eps) {
    return guarded("diopiLayerNorm", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor mean_tensor = tensor("save_mean", save_mean, kFloating);
        const Tensor invstd_tensor = tensor("save_invstd", save_invstd, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        layer_norm(out_tensor, mean_tensor, invstd_tensor, input_tensor, weight_tensor, bias_tensor,
                   trailing(input_tensor, normalized_shape), eps);
    });
}

DIOPI_API diopiError_t diopiLayerNormBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                              diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                              diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                                              diopiConstTensorHandle_t mean, diopiConstTensorHandle_t rstd,
                                              diopiSize_t normalized_shape) {
    return guarded("diopiLayerNormBackward", ctx, [&] {
        const Tensor gradient_tensor = optional_tensor("grad_input", grad_input, kFloating);
        const Tensor scale_tensor = optional_tensor("grad_weight", grad_weight, kFloating);
        const Tensor shift_tensor = optional_tensor("grad_bias", grad_bias, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const Tensor mean_tensor = tensor("mean", mean, kFloating);
        const Tensor rstd_tensor = tensor("rstd", rstd, kFloating);
        layer_norm_backward(gradient_tensor, scale_tensor, shift_tensor, incoming_tensor, input_tensor, weight_tensor,
                            bias_tensor, mean_tensor, rstd_tensor, trailing(input_tensor, normalized_shape));
    });
}

DIOPI_API diopiError_t diopiLayerNormGB(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                        diopiTensorHandle_t running_mean, diopiTensorHandle_t running_var,
                                        diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                        diopiConstTensorHandle_t bias, const double eps,
                                        const int64_t begin_norm_axis) {
    return guarded("diopiLayerNormGB", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor mean_tensor = tensor("running_mean", running_mean, kFloating);
        const Tensor invstd_tensor = tensor("running_var", running_var, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const Trailing parts = trailing_from(input_tensor, begin_norm_axis);
        for (const Tensor* factor : {&weight_tensor, &bias_tensor}) {
            require(factor->is_null() || shape_of(*factor) == parts.inner_shape,
                    "C2: weight and bias have the shape of the normalised dimensions");
        }
        layer_norm(out_tensor, mean_tensor, invstd_tensor, input_tensor, weight_tensor, bias_tensor, parts, eps);
    });
}

DIOPI_API diopiError_t diopiLayerNormGBBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                                diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                                diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                                                diopiConstTensorHandle_t running_mean,
                                                diopiConstTensorHandle_t running_std, const int64_t begin_norm_axis) {
    return guarded("diopiLayerNormGBBackward", ctx, [&] {
        const Tensor gradient_tensor = optional_tensor("grad_input", grad_input, kFloating);
        const Tensor scale_tensor = optional_tensor("grad_weight", grad_weight, kFloating);
        const Tensor shift_tensor = optional_tensor("grad_bias", grad_bias, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const Tensor mean_tensor = tensor("running_mean", running_mean, kFloating);
        const Tensor invstd_tensor = tensor("running_std", running_std, kFloating);
        const Trailing parts = trailing_from(input_tensor, begin_norm_axis);
        for (const Tensor* factor : {&weight_tensor, &bias_tensor, &scale_tensor, &shift_tensor}) {
            require(factor->is_null() || shape_of(*factor) == parts.inner_shape,
                    "C2: weight, bias and their gradients have the shape of the normalised dimensions");
        }
        layer_norm_backward(gradient_tensor, scale_tensor, shift_tensor, incoming_tensor, input_tensor, weight_tensor,
                            bias_tensor, mean_tensor, invstd_tensor, parts);
    });
}
