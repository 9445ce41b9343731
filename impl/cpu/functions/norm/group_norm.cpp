// GroupNorm and its gradient, with statistics in double.
#include "group_norm.h"

#include <diopi/functions.h>

#include "kernels.h"

using namespace diopi::cpu;

namespace {

Groups groups_of(const Tensor& input, int64_t num_groups) {
    const Channels channels(input);
    require(num_groups > 0, "num_groups.range: num_groups is at least 1");
    require(channels.count % num_groups == 0, "C2: num_groups divides the number of channels");
    return Groups(channels, num_groups);
}

}  // namespace

DIOPI_API diopiError_t diopiGroupNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiTensorHandle_t save_mean,
                                      diopiTensorHandle_t save_invstd, diopiConstTensorHandle_t input,
                                      diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                                      int64_t num_groups, double eps) {
    return guarded("diopiGroupNorm", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor mean_tensor = tensor("save_mean", save_mean, kFloating);
        const Tensor invstd_tensor = tensor("save_invstd", save_invstd, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const Groups groups = groups_of(input_tensor, num_groups);
        require_same_dtype(out_tensor, input_tensor);
        require_same_shape(out_tensor, input_tensor);
        for (const Tensor* factor : {&weight_tensor, &bias_tensor}) {
            require_factor_dtype(*factor, input_tensor);
            require_shape(*factor, {groups.channels.count});
        }
        require_shape(mean_tensor, {groups.channels.samples, num_groups});
        require_shape(invstd_tensor, {groups.channels.samples, num_groups});
        require_separate({&out_tensor, &mean_tensor, &invstd_tensor}, {&weight_tensor, &bias_tensor});
        require_separate({&mean_tensor, &invstd_tensor}, {&input_tensor});
        require_no_overlap(out_tensor, input_tensor);
        normalise_groups(out_tensor, mean_tensor, invstd_tensor, input_tensor, weight_tensor, bias_tensor, groups, eps);
    });
}

DIOPI_API diopiError_t diopiGroupNormBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                              diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                              diopiConstTensorHandle_t weight, diopiConstTensorHandle_t mean,
                                              diopiConstTensorHandle_t rstd, int64_t num_groups) {
    return guarded("diopiGroupNormBackward", ctx, [&] {
        const Tensor gradient_tensor = optional_tensor("grad_input", grad_input, kFloating);
        const Tensor scale_tensor = optional_tensor("grad_weight", grad_weight, kFloating);
        const Tensor shift_tensor = optional_tensor("grad_bias", grad_bias, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor mean_tensor = tensor("mean", mean, kFloating);
        const Tensor rstd_tensor = tensor("rstd", rstd, kFloating);
        const Groups groups = groups_of(input_tensor, num_groups);
        require_same_shape(gradient_tensor, input_tensor);
        require_same_shape(incoming_tensor, input_tensor);
        require_same_dtype(gradient_tensor, input_tensor);
        require_same_dtype(incoming_tensor, input_tensor);
        for (const Tensor* factor : {&scale_tensor, &shift_tensor, &weight_tensor}) {
            require_factor_dtype(*factor, input_tensor);
            require_shape(*factor, {groups.channels.count});
        }
        require_shape(mean_tensor, {groups.channels.samples, num_groups});
        require_shape(rstd_tensor, {groups.channels.samples, num_groups});
        require_separate({&gradient_tensor, &scale_tensor, &shift_tensor},
                         {&incoming_tensor, &input_tensor, &weight_tensor, &mean_tensor, &rstd_tensor});
        group_gradients(gradient_tensor, scale_tensor, shift_tensor, incoming_tensor, input_tensor, weight_tensor,
                        mean_tensor, rstd_tensor, groups);
    });
}
