// SigmoidFocalLoss and its gradient (Lin et al., 2017): cross entropy times the probability of the wrong label to the
// power of gamma.
#include "elementwise.h"
#include "loss.h"
#include "loss_kernels.h"

using namespace diopigen::core;

void diopigen::entry::sigmoid_focal_loss(const SigmoidFocalLossArgs& args) {
    check_loss(args.out, args.inputs, {&args.targets});
    focal_losses(args.out, args.inputs, args.targets, args.reduction, Focus{args.alpha, args.gamma});
}

void diopigen::entry::sigmoid_focal_loss_backward(const SigmoidFocalLossBackwardArgs& args) {
    check_gradient(args.grad_input, args.grad_output, args.target, {});
    focal_gradients(args.grad_input, args.grad_output, args.input, args.target, args.reduction,
                    Focus{args.alpha, args.gamma});
}
