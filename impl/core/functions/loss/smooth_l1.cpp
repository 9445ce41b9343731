// SmoothL1Loss and its gradient. The linear part begins at |difference| = beta; with beta = 0 there is no other.
#include "elementwise.h"
#include "loss.h"
#include "loss_kernels.h"

using namespace diopigen::core;

void diopigen::entry::smooth_l1_loss(const SmoothL1LossArgs& args) {
    check_loss(args.out, args.input, {&args.target});
    smooth_l1_losses(args.out, args.input, args.target, args.reduction, args.beta);
}

void diopigen::entry::smooth_l1_loss_backward(const SmoothL1LossBackwardArgs& args) {
    check_gradient(args.grad_input, args.grad_output, args.target, {});
    smooth_l1_gradients(args.grad_input, args.grad_output, args.input, args.target, args.reduction, args.beta);
}
