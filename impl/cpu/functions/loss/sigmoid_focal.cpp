// SigmoidFocalLoss and its gradient (Lin et al., 2017): cross entropy times the probability of the wrong label to the
// power of gamma.
#include <diopi/functions.h>

#include "elementwise.h"
#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiSigmoidFocalLoss(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                             diopiConstTensorHandle_t inputs, diopiConstTensorHandle_t targets,
                                             float alpha, float gamma, diopiReduction_t reduction) {
    return guarded("diopiSigmoidFocalLoss", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("inputs", inputs, kFloating);
        const Tensor target_tensor = tensor("targets", targets, kNumber | kBool);
        check_loss(out_tensor, input_tensor, target_tensor, {}, reduction);
        const Focus focus{alpha, gamma};
        focal_losses(out_tensor, input_tensor, target_tensor, reduction, focus);
    });
}

DIOPI_API diopiError_t diopiSigmoidFocalLossBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_output,
                                                     diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                                     diopiTensorHandle_t grad_input, float gamma, float alpha,
                                                     diopiReduction_t reduction) {
    return guarded("diopiSigmoidFocalLossBackward", ctx, [&] {
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kNumber | kBool);
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        check_gradient(gradient_tensor, incoming_tensor, input_tensor, target_tensor, {}, reduction);
        const Focus focus{alpha, gamma};
        focal_gradients(gradient_tensor, incoming_tensor, input_tensor, target_tensor, reduction, focus);
    });
}
