// InstanceNorm and its gradient: each channel of each sample is normalised by itself. The channels' dimension is moved
// behind the samples'; then it is group normalisation with one channel to a group.
#include <diopi/functions.h>

#include "group_norm.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

// Dimensions in the order samples, channels, the others.
std::vector<int64_t> channels_second(const Tensor& input, int64_t axis) {
    require(axis >= -input.rank && axis < input.rank,
            "axis.range: axis is at least -rank(input) and below rank(input)");
    const int64_t channels = axis < 0 ? axis + input.rank : axis;
    require(channels != 0, "C2: axis is not the first dimension");
    std::vector<int64_t> order = {0, channels};
    for (int64_t i = 1; i < input.rank; ++i) {
        if (i != channels) {
            order.push_back(i);
        }
    }
    return order;
}

}  // namespace

DIOPI_API diopiError_t diopiInstanceNorm(diopiContextHandle_t ctx, diopiTensorHandle_t output,
                                         diopiConstTensorHandle_t input, const int64_t axis,
                                         diopiConstTensorHandle_t scale, diopiConstTensorHandle_t bias,
                                         const double eps) {
    return guarded("diopiInstanceNorm", ctx, [&] {
        const Tensor out_tensor = tensor("output", output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor scale_tensor = optional_tensor("scale", scale, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const std::vector<int64_t> order = channels_second(input_tensor, axis);
        const View from = permuted(input_tensor, order);
        require_same_dtype(out_tensor, input_tensor);
        require_same_shape(out_tensor, input_tensor);
        for (const Tensor* factor : {&scale_tensor, &bias_tensor}) {
            require_same_dtype(*factor, input_tensor);
            require_shape(*factor, {input_tensor.shape[order[1]]});
        }
        require_separate({&out_tensor}, {&scale_tensor, &bias_tensor});
        require_no_overlap(out_tensor, input_tensor);
        require_one_device({&out_tensor, &input_tensor});
        const View to = permuted(out_tensor, order);
        normalise_channels_of_samples(to.tensor(), from.tensor(), scale_tensor, bias_tensor, eps);
    });
}

DIOPI_API diopiError_t diopiInstanceNormBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                 diopiTensorHandle_t grad_scale, diopiTensorHandle_t grad_bias,
                                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                                 diopiConstTensorHandle_t scale, diopiConstTensorHandle_t bias,
                                                 const int64_t axis, const double eps) {
    return guarded("diopiInstanceNormBackward", ctx, [&] {
        const Tensor gradient_tensor = optional_tensor("grad_input", grad_input, kFloating);
        const Tensor grad_scale_tensor = optional_tensor("grad_scale", grad_scale, kFloating);
        const Tensor grad_bias_tensor = optional_tensor("grad_bias", grad_bias, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor scale_tensor = optional_tensor("scale", scale, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const std::vector<int64_t> order = channels_second(input_tensor, axis);
        require_same_shape(gradient_tensor, input_tensor);
        require_same_shape(incoming_tensor, input_tensor);
        for (const Tensor* same :
             {&gradient_tensor, &grad_scale_tensor, &grad_bias_tensor, &incoming_tensor, &scale_tensor, &bias_tensor}) {
            require_same_dtype(*same, input_tensor);
        }
        for (const Tensor* factor : {&grad_scale_tensor, &grad_bias_tensor, &scale_tensor, &bias_tensor}) {
            require_shape(*factor, {input_tensor.shape[order[1]]});
        }
        require_separate({&gradient_tensor, &grad_scale_tensor, &grad_bias_tensor},
                         {&incoming_tensor, &input_tensor, &scale_tensor, &bias_tensor});
        const View x_view = permuted(input_tensor, order);
        const View incoming_view = permuted(incoming_tensor, order);
        const bool is_wanted = !gradient_tensor.is_null();
        const View gradient_view = permuted(is_wanted ? gradient_tensor : input_tensor, order);
        channel_of_sample_gradients(is_wanted ? gradient_view.tensor() : gradient_tensor, grad_scale_tensor,
                                    grad_bias_tensor, incoming_view.tensor(), x_view.tensor(), scale_tensor, eps);
    });
}
