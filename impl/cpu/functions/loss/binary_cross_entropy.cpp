// BCELoss and BCEWithLogits with their gradients. Logits go through softplus, so that nothing overflows and nothing
// large is taken from something large; logarithms of probabilities are cut off at -100, as PyTorch does.
#include <diopi/functions.h>

#include "elementwise.h"
#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiBCELoss(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                    diopiReduction_t reduction) {
    return guarded("diopiBCELoss", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kNumber | kBool);
        const Tensor weight_tensor = optional_tensor("weight", weight, kNumber | kBool);
        check_loss(out_tensor, input_tensor, target_tensor, {&weight_tensor}, reduction);
        bce_losses(out_tensor, input_tensor, target_tensor, weight_tensor, reduction);
    });
}

DIOPI_API diopiError_t diopiBCELossBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                            diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                            diopiReduction_t reduction) {
    return guarded("diopiBCELossBackward", ctx, [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kNumber | kBool);
        const Tensor weight_tensor = optional_tensor("weight", weight, kNumber | kBool);
        check_gradient(gradient_tensor, incoming_tensor, input_tensor, target_tensor, {&weight_tensor}, reduction);
        bce_gradients(gradient_tensor, incoming_tensor, input_tensor, target_tensor, weight_tensor, reduction);
    });
}

DIOPI_API diopiError_t diopiBCEWithLogits(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                          diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                          diopiConstTensorHandle_t weight, diopiConstTensorHandle_t pos_weight,
                                          diopiReduction_t reduction) {
    return guarded("diopiBCEWithLogits", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kNumber | kBool);
        const Tensor weight_tensor = optional_tensor("weight", weight, kNumber | kBool);
        const Tensor positive_tensor = optional_tensor("pos_weight", pos_weight, kNumber | kBool);
        check_loss(out_tensor, input_tensor, target_tensor, {&weight_tensor, &positive_tensor}, reduction);
        logit_losses(out_tensor, input_tensor, target_tensor, weight_tensor, positive_tensor, reduction);
    });
}

DIOPI_API diopiError_t diopiBCEWithLogitsBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                  diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                                  diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                                  diopiConstTensorHandle_t pos_weight, diopiReduction_t reduction) {
    return guarded("diopiBCEWithLogitsBackward", ctx, [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kNumber | kBool);
        const Tensor weight_tensor = optional_tensor("weight", weight, kNumber | kBool);
        const Tensor positive_tensor = optional_tensor("pos_weight", pos_weight, kNumber | kBool);
        check_gradient(gradient_tensor, incoming_tensor, input_tensor, target_tensor,
                       {&weight_tensor, &positive_tensor}, reduction);
        logit_gradients(gradient_tensor, incoming_tensor, input_tensor, target_tensor, weight_tensor, positive_tensor,
                        reduction);
    });
}
