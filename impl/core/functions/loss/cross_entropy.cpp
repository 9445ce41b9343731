// CrossEntropyLoss and its gradient: exponentials in the dtype, everything else in double. The mean over class indices
// divides by the weights of the samples that count; over class probabilities, by the number of samples.
#include "cross_entropy.h"

#include "loss.h"
#include "loss_kernels.h"

using namespace diopigen::core;

void diopigen::entry::cross_entropy_loss(const CrossEntropyLossArgs& args) {
    require_separate({&args.out}, {&args.input, &args.target, &args.weight});
    cross_entropy_losses(args.out, CrossEntropyProblem(args));
}

void diopigen::entry::cross_entropy_loss_backward(const CrossEntropyLossBackwardArgs& args) {
    require_separate({&args.grad_input}, {&args.grad_output, &args.input, &args.target, &args.weight});
    cross_entropy_gradients(args.grad_input, args.grad_output, CrossEntropyProblem(args));
}
