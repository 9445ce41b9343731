// BCELoss and BCEWithLogits with their gradients. Logits go through softplus, so that nothing overflows and nothing
// large is taken from something large; logarithms of probabilities are cut off at -100, as PyTorch does.
#include "elementwise.h"
#include "loss.h"
#include "loss_kernels.h"

using namespace diopigen::core;

void diopigen::entry::bce_loss(const BCELossArgs& args) {
    check_loss(args.out, args.input, {&args.target, &args.weight});
    bce_losses(args.out, args.input, args.target, args.weight, args.reduction);
}

void diopigen::entry::bce_loss_backward(const BCELossBackwardArgs& args) {
    check_gradient(args.grad_input, args.grad_output, args.target, {&args.weight});
    bce_gradients(args.grad_input, args.grad_output, args.input, args.target, args.weight, args.reduction);
}

void diopigen::entry::bce_with_logits(const BCEWithLogitsArgs& args) {
    check_loss(args.out, args.input, {&args.target, &args.weight, &args.pos_weight});
    logit_losses(args.out, args.input, args.target, args.weight, args.pos_weight, args.reduction);
}

void diopigen::entry::bce_with_logits_backward(const BCEWithLogitsBackwardArgs& args) {
    check_gradient(args.grad_input, args.grad_output, args.target, {&args.weight, &args.pos_weight});
    logit_gradients(args.grad_input, args.grad_output, args.input, args.target, args.weight, args.pos_weight,
                    args.reduction);
}
