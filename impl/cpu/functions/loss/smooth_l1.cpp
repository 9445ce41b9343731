// SmoothL1Loss and its gradient. The linear part begins at |difference| = beta; with beta = 0 there is no other.
#include <diopi/functions.h>

#include "elementwise.h"
#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiSmoothL1Loss(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                         diopiReduction_t reduction, double beta) {
    return guarded("diopiSmoothL1Loss", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kNumber | kBool);
        check_loss(out_tensor, input_tensor, target_tensor, {}, reduction);
        require(beta >= 0, "beta.range: beta is at least 0");
        smooth_l1_losses(out_tensor, input_tensor, target_tensor, reduction, beta);
    });
}

DIOPI_API diopiError_t diopiSmoothL1LossBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                                 diopiConstTensorHandle_t target, diopiReduction_t reduction,
                                                 double beta) {
    return guarded("diopiSmoothL1LossBackward", ctx, [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kNumber | kBool);
        check_gradient(gradient_tensor, incoming_tensor, input_tensor, target_tensor, {}, reduction);
        require(beta >= 0, "beta.range: beta is at least 0");
        smooth_l1_gradients(gradient_tensor, incoming_tensor, input_tensor, target_tensor, reduction, beta);
    });
}
