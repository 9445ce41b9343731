// BatchNorm and its gradient: statistics per channel, in double.
#include <diopi/functions.h>

#include "kernels.h"
#include "norm.h"

using namespace diopi::cpu;

namespace {

// Evaluation takes the running statistics: what hosts pass there, null or an empty tensor, stands for none.
Tensor statistic(const char* name, diopiTensorHandle_t handle, bool training) {
    if (training) {
        return tensor(name, handle, kFloating);
    }
    const Tensor given = optional_tensor(name, handle, kFloating);
    return given.numel == 0 ? Tensor() : given;
}

}  // namespace

DIOPI_API diopiError_t diopiBatchNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiTensorHandle_t save_mean,
                                      diopiTensorHandle_t save_invstd, diopiConstTensorHandle_t input,
                                      diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                                      diopiTensorHandle_t running_mean, diopiTensorHandle_t running_var, bool training,
                                      double momentum, double eps) {
    return guarded("diopiBatchNorm", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor mean_tensor = statistic("save_mean", save_mean, training);
        const Tensor invstd_tensor = statistic("save_invstd", save_invstd, training);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const Tensor running_mean_tensor = optional_tensor("running_mean", running_mean, kFloating);
        const Tensor running_var_tensor = optional_tensor("running_var", running_var, kFloating);
        const Channels channels(input_tensor);
        require_same_dtype(out_tensor, input_tensor);
        require_same_shape(out_tensor, input_tensor);
        for (const Tensor* vector :
             {&mean_tensor, &invstd_tensor, &weight_tensor, &bias_tensor, &running_mean_tensor, &running_var_tensor}) {
            require_shape(*vector, {channels.count});
        }
        require_separate({&out_tensor, &mean_tensor, &invstd_tensor, &running_mean_tensor, &running_var_tensor},
                         {&weight_tensor, &bias_tensor});
        require_separate({&mean_tensor, &invstd_tensor, &running_mean_tensor, &running_var_tensor}, {&input_tensor});
        require_no_overlap(out_tensor, input_tensor);
        const bool has_running = !running_mean_tensor.is_null();
        require(training || (has_running && !running_var_tensor.is_null()),
                "C1: running_mean and running_var are given in evaluation");
        require(has_running == !running_var_tensor.is_null(),
                "C2: running_mean and running_var are both given or both null");
        normalise_channels(out_tensor, mean_tensor, invstd_tensor, input_tensor, weight_tensor, bias_tensor,
                           running_mean_tensor, running_var_tensor, channels, training, momentum, eps);
    });
}

DIOPI_API diopiError_t diopiBatchNormBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                              diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                              diopiConstTensorHandle_t weight, diopiConstTensorHandle_t running_mean,
                                              diopiConstTensorHandle_t running_var, diopiConstTensorHandle_t save_mean,
                                              diopiConstTensorHandle_t save_invstd, bool training, double eps) {
    return guarded("diopiBatchNormBackward", ctx, [&] {
        const Tensor gradient_tensor = optional_tensor("grad_input", grad_input, kFloating);
        const Tensor scale_tensor = optional_tensor("grad_weight", grad_weight, kFloating);
        const Tensor shift_tensor = optional_tensor("grad_bias", grad_bias, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor running_mean_tensor = optional_tensor("running_mean", running_mean, kFloating);
        const Tensor running_var_tensor = optional_tensor("running_var", running_var, kFloating);
        const Tensor mean_tensor = optional_tensor("save_mean", save_mean, kFloating);
        const Tensor invstd_tensor = optional_tensor("save_invstd", save_invstd, kFloating);
        const Channels channels(input_tensor);
        require(!training || (!mean_tensor.is_null() && !invstd_tensor.is_null()),
                "C1: save_mean and save_invstd are given in training");
        require(training || (!running_mean_tensor.is_null() && !running_var_tensor.is_null()),
                "C2: running_mean and running_var are given in evaluation");
        for (const Tensor* same : {&gradient_tensor, &incoming_tensor}) {
            require_same_dtype(*same, input_tensor);
            require_same_shape(*same, input_tensor);
        }
        for (const Tensor* vector : {&scale_tensor, &shift_tensor, &weight_tensor}) {
            require_shape(*vector, {channels.count});
        }
        // What is not read may be an empty tensor, as frameworks pass it.
        const Tensor& used_mean = training ? mean_tensor : running_mean_tensor;
        const Tensor& used_deviation = training ? invstd_tensor : running_var_tensor;
        require_shape(used_mean, {channels.count});
        require_shape(used_deviation, {channels.count});
        require_separate({&gradient_tensor, &scale_tensor, &shift_tensor},
                         {&incoming_tensor, &input_tensor, &weight_tensor, &used_mean, &used_deviation});
        channel_gradients(gradient_tensor, scale_tensor, shift_tensor, incoming_tensor, input_tensor, weight_tensor,
                          used_mean, used_deviation, channels, training, eps);
    });
}
