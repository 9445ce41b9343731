// NLLLoss and NLLLossV2 with their gradients: sums in double. The mean divides by the weights of the samples that
// count.
#include "classes.h"
#include "loss.h"
#include "loss_kernels.h"

using namespace diopigen::core;

namespace {

// Null in place of a sum of weights.
const Tensor kNoSum;

template <typename Args>
void nll(const Args& args, const Tensor& total_weight) {
    require_separate({&args.out, &total_weight}, {&args.input, &args.target, &args.weight});
    nll_losses(args.out, total_weight, args.input, args.target, args.weight, classes_of(args.input), args.reduction,
               args.ignore_index);
}

// Where `total_weight` is null, the weights that the mean divides by are summed up.
template <typename Args>
void nll_backward(const Args& args, const Tensor& total_weight) {
    require_separate({&args.grad_input}, {&args.grad_output, &args.input, &args.target, &args.weight, &total_weight});
    nll_gradients(args.grad_input, args.grad_output, args.input, args.target, args.weight, total_weight,
                  classes_of(args.input), args.reduction, args.ignore_index);
}

}  // namespace

void diopigen::entry::nll_loss(const NLLLossArgs& args) { nll(args, kNoSum); }

void diopigen::entry::nll_loss_v2(const NLLLossV2Args& args) { nll(args, args.totalWeight); }

void diopigen::entry::nll_loss_backward(const NLLLossBackwardArgs& args) { nll_backward(args, kNoSum); }

void diopigen::entry::nll_loss_v2_backward(const NLLLossV2BackwardArgs& args) { nll_backward(args, args.totalWeight); }
