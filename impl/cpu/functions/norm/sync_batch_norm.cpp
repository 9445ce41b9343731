// The pieces of batch normalisation over several devices (torch.nn.SyncBatchNorm): statistics of one part of a batch,
// their union, and the gradient from sums that were joined. All in double.
#include <diopi/functions.h>

#include "kernels.h"
#include "norm.h"

using namespace diopi::cpu;

namespace {

// `result` is what the operator makes of the input element by element.
void check_elements(const Tensor& result, const Tensor& input) {
    require_same_dtype(result, input);
    require_same_shape(result, input);
    require_one_device({&result, &input});
}

void require_vectors(std::initializer_list<const Tensor*> vectors, int64_t length) {
    for (const Tensor* vector : vectors) {
        require_shape(*vector, {length});
    }
}

}  // namespace

DIOPI_API diopiError_t diopiBatchNormStats(diopiContextHandle_t ctx, diopiTensorHandle_t mean,
                                           diopiTensorHandle_t invstd, diopiConstTensorHandle_t input, double eps) {
    return guarded("diopiBatchNormStats", ctx, [&] {
        const Tensor mean_tensor = tensor("mean", mean, kFloating);
        const Tensor invstd_tensor = tensor("invstd", invstd, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Channels channels(input_tensor);
        require_vectors({&mean_tensor, &invstd_tensor}, channels.count);
        require_separate({&mean_tensor, &invstd_tensor}, {&input_tensor});
        channel_statistics(mean_tensor, invstd_tensor, input_tensor, channels, eps);
    });
}

DIOPI_API diopiError_t diopiBatchNormGatherStatsWithCounts(
    diopiContextHandle_t ctx, diopiTensorHandle_t mean, diopiTensorHandle_t invstd, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t mean_all, diopiConstTensorHandle_t invstd_all, diopiTensorHandle_t running_mean,
    diopiTensorHandle_t running_var, float momentum, float eps, diopiConstTensorHandle_t counts) {
    return guarded("diopiBatchNormGatherStatsWithCounts", ctx, [&] {
        const Tensor mean_tensor = tensor("mean", mean, kFloating);
        const Tensor invstd_tensor = tensor("invstd", invstd, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor mean_all_tensor = tensor("mean_all", mean_all, kFloating);
        const Tensor invstd_all_tensor = tensor("invstd_all", invstd_all, kFloating);
        const Tensor running_mean_tensor = optional_tensor("running_mean", running_mean, kFloating);
        const Tensor running_var_tensor = optional_tensor("running_var", running_var, kFloating);
        const Tensor counts_tensor = tensor("counts", counts, kFloating);
        const Channels channels(input_tensor);
        require(running_mean_tensor.is_null() == running_var_tensor.is_null(),
                "C1: running_mean and running_var are both given or both null");
        require_rank(counts_tensor, 1, 1);
        const int64_t parts = counts_tensor.shape[0];
        require_shape(mean_all_tensor, {parts, channels.count});
        require_shape(invstd_all_tensor, {parts, channels.count});
        require_vectors({&mean_tensor, &invstd_tensor, &running_mean_tensor, &running_var_tensor}, channels.count);
        require_separate({&mean_tensor, &invstd_tensor, &running_mean_tensor, &running_var_tensor},
                         {&input_tensor, &mean_all_tensor, &invstd_all_tensor, &counts_tensor});
        join_statistics(mean_tensor, invstd_tensor, mean_all_tensor, invstd_all_tensor, running_mean_tensor,
                        running_var_tensor, counts_tensor, channels, momentum, eps);
    });
}

DIOPI_API diopiError_t diopiBatchNormElemt(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                           diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                           diopiConstTensorHandle_t bias, diopiConstTensorHandle_t mean,
                                           diopiConstTensorHandle_t invstd, float /*eps*/) {
    return guarded("diopiBatchNormElemt", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const Tensor mean_tensor = tensor("mean", mean, kFloating);
        const Tensor invstd_tensor = tensor("invstd", invstd, kFloating);
        const Channels channels(input_tensor);
        check_elements(out_tensor, input_tensor);
        require_vectors({&weight_tensor, &bias_tensor, &mean_tensor, &invstd_tensor}, channels.count);
        require_separate({&out_tensor}, {&weight_tensor, &bias_tensor, &mean_tensor, &invstd_tensor});
        require_no_overlap(out_tensor, input_tensor);
        scale_channels(out_tensor, input_tensor, weight_tensor, bias_tensor, mean_tensor, invstd_tensor, channels);
    });
}

DIOPI_API diopiError_t diopiBatchNormBackwardReduce(diopiContextHandle_t ctx, diopiTensorHandle_t sum_dy,
                                                    diopiTensorHandle_t sum_dy_xmu, diopiTensorHandle_t grad_weight,
                                                    diopiTensorHandle_t grad_bias, diopiConstTensorHandle_t grad_out,
                                                    diopiConstTensorHandle_t input, diopiConstTensorHandle_t mean,
                                                    diopiConstTensorHandle_t invstd, diopiConstTensorHandle_t weight,
                                                    bool input_g, bool weight_g, bool bias_g) {
    return guarded("diopiBatchNormBackwardReduce", ctx, [&] {
        const Tensor sum_tensor = optional_tensor("sum_dy", sum_dy, kFloating);
        const Tensor product_tensor = optional_tensor("sum_dy_xmu", sum_dy_xmu, kFloating);
        const Tensor scale_tensor = optional_tensor("grad_weight", grad_weight, kFloating);
        const Tensor shift_tensor = optional_tensor("grad_bias", grad_bias, kFloating);
        const Tensor incoming_tensor = tensor("grad_out", grad_out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor mean_tensor = tensor("mean", mean, kFloating);
        const Tensor invstd_tensor = tensor("invstd", invstd, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Channels channels(input_tensor);
        require((!input_g || (!sum_tensor.is_null() && !product_tensor.is_null())) &&
                    (!weight_g || !scale_tensor.is_null()) && (!bias_g || !shift_tensor.is_null()),
                "C1: no output is null whose flag input_g, weight_g or bias_g is set");
        check_elements(incoming_tensor, input_tensor);
        require_vectors(
            {&sum_tensor, &product_tensor, &scale_tensor, &shift_tensor, &mean_tensor, &invstd_tensor, &weight_tensor},
            channels.count);
        require_separate({&sum_tensor, &product_tensor, &scale_tensor, &shift_tensor},
                         {&incoming_tensor, &input_tensor, &mean_tensor, &invstd_tensor, &weight_tensor});
        channel_sums(sum_tensor, product_tensor, scale_tensor, shift_tensor, incoming_tensor, input_tensor, mean_tensor,
                     invstd_tensor, channels, input_g, weight_g, bias_g);
    });
}

DIOPI_API diopiError_t diopiBatchNormBackwardElemt(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                   diopiConstTensorHandle_t grad_out, diopiConstTensorHandle_t input,
                                                   diopiConstTensorHandle_t mean, diopiConstTensorHandle_t invstd,
                                                   diopiConstTensorHandle_t weight, diopiConstTensorHandle_t sum_dy,
                                                   diopiConstTensorHandle_t sum_dy_xmu,
                                                   diopiConstTensorHandle_t count) {
    return guarded("diopiBatchNormBackwardElemt", ctx, [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor incoming_tensor = tensor("grad_out", grad_out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor mean_tensor = tensor("mean", mean, kFloating);
        const Tensor invstd_tensor = tensor("invstd", invstd, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor sum_tensor = tensor("sum_dy", sum_dy, kFloating);
        const Tensor product_tensor = tensor("sum_dy_xmu", sum_dy_xmu, kFloating);
        const Tensor count_tensor = tensor("count", count, kInt32);
        const Channels channels(input_tensor);
        check_elements(gradient_tensor, input_tensor);
        check_elements(incoming_tensor, input_tensor);
        require_rank(count_tensor, 1, 1);
        require_vectors({&mean_tensor, &invstd_tensor, &weight_tensor, &sum_tensor, &product_tensor}, channels.count);
        require_separate({&gradient_tensor},
                         {&mean_tensor, &invstd_tensor, &weight_tensor, &sum_tensor, &product_tensor, &count_tensor});
        require_no_overlap(gradient_tensor, incoming_tensor);
        require_no_overlap(gradient_tensor, input_tensor);
        gradients_from_sums(gradient_tensor, incoming_tensor, input_tensor, mean_tensor, invstd_tensor, weight_tensor,
                            sum_tensor, product_tensor, count_tensor, channels);
    });
}
