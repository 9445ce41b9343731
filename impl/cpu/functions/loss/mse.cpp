// MSELoss and its gradient: sums in double.
#include <diopi/functions.h>

#include "elementwise.h"
#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiMSELoss(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t target, diopiReduction_t reduction) {
    return guarded("diopiMSELoss", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kNumber | kBool);
        check_loss(out_tensor, input_tensor, target_tensor, {}, reduction);
        mse_losses(out_tensor, input_tensor, target_tensor, reduction);
    });
}

DIOPI_API diopiError_t diopiMSELossBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                            diopiConstTensorHandle_t target, diopiReduction_t reduction) {
    return guarded("diopiMSELossBackward", ctx, [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kNumber | kBool);
        check_gradient(gradient_tensor, incoming_tensor, input_tensor, target_tensor, {}, reduction);
        mse_gradients(gradient_tensor, incoming_tensor, input_tensor, target_tensor, reduction);
    });
}
