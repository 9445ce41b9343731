// MSELoss and its gradient: sums in double.
#include "elementwise.h"
#include "loss.h"
#include "loss_kernels.h"

using namespace diopigen::core;

void diopigen::entry::mse_loss(const MSELossArgs& args) {
    check_loss(args.out, args.input, {&args.target});
    mse_losses(args.out, args.input, args.target, args.reduction);
}

void diopigen::entry::mse_loss_backward(const MSELossBackwardArgs& args) {
    check_gradient(args.grad_input, args.grad_output, args.target, {});
    mse_gradients(args.grad_input, args.grad_output, args.input, args.target, args.reduction);
}
