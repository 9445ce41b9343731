// RMSNorm and its gradient: root mean squares over the trailing dimensions, in double.
#include <diopi/functions_ext.h>

#include "kernels.h"
#include "trailing.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiRMSNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiTensorHandle_t inv_rms,
                                    diopiConstTensorHandle_t input, diopiSize_t normalized_shape,
                                    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias, double eps) {
    return guarded("diopiRMSNorm", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor inverse_tensor = tensor("inv_rms", inv_rms, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const Trailing parts = trailing(input_tensor, normalized_shape);
        require_same_dtype(out_tensor, input_tensor);
        require_same_shape(out_tensor, input_tensor);
        for (const Tensor* factor : {&weight_tensor, &bias_tensor}) {
            require_same_dtype(*factor, input_tensor);
            require_shape(*factor, parts.inner_shape);
        }
        require_statistics_shape(inverse_tensor, parts);
        require_separate({&out_tensor, &inverse_tensor}, {&weight_tensor, &bias_tensor});
        require_separate({&inverse_tensor}, {&input_tensor});
        require_no_overlap(out_tensor, input_tensor);
        normalise_rows_by_rms(out_tensor, inverse_tensor, input_tensor, weight_tensor, bias_tensor, parts, eps);
    });
}

DIOPI_API diopiError_t diopiRMSNormBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                            diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                            diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                                            diopiConstTensorHandle_t inv_rms, diopiSize_t normalized_shape,
                                            double /*eps*/) {
    return guarded("diopiRMSNormBackward", ctx, [&] {
        const Tensor gradient_tensor = optional_tensor("grad_input", grad_input, kFloating);
        const Tensor scale_tensor = optional_tensor("grad_weight", grad_weight, kFloating);
        const Tensor shift_tensor = optional_tensor("grad_bias", grad_bias, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const Tensor inverse_tensor = tensor("inv_rms", inv_rms, kFloating);
        const Trailing parts = trailing(input_tensor, normalized_shape);
        require_same_shape(gradient_tensor, input_tensor);
        require_same_shape(incoming_tensor, input_tensor);
        for (const Tensor* same :
             {&gradient_tensor, &scale_tensor, &shift_tensor, &incoming_tensor, &weight_tensor, &bias_tensor}) {
            require_same_dtype(*same, input_tensor);
        }
        for (const Tensor* factor : {&weight_tensor, &bias_tensor, &scale_tensor, &shift_tensor}) {
            require_shape(*factor, parts.inner_shape);
        }
        require_statistics_shape(inverse_tensor, parts);
        require_separate({&gradient_tensor, &scale_tensor, &shift_tensor},
                         {&incoming_tensor, &input_tensor, &weight_tensor, &bias_tensor, &inverse_tensor});
        rms_row_gradients(gradient_tensor, scale_tensor, shift_tensor, incoming_tensor, input_tensor, weight_tensor,
                          inverse_tensor, parts);
    });
}
