// CTCLoss and its gradient (Graves et al., 2006), all sums of probabilities as logarithms in double. The states of a
// sample are its target with a blank before, between and behind the classes.
#include "ctc.h"

#include <algorithm>

#include "diopi_core/kernel_checks.h"
#include "loss.h"

using namespace diopigen::core;

namespace {

constexpr const char* kForwardRule =
    "C3: input_lengths are at most T, target_lengths fit targets, and targets are classes other than blank";
constexpr const char* kBackwardRule =
    "C4: input_lengths are at most T, target_lengths fit targets, and targets are classes other than blank";

bool is_same_memory(const Tensor& one, const Tensor& other) {
    return one.data == other.data && is_same_shape(one, other) &&
           std::equal(one.strides, one.strides + one.rank, other.strides);
}

}  // namespace

void diopigen::entry::ctc_loss(const CTCLossArgs& args) {
    const Sequences all(args, kForwardRule);
    require_shape(args.log_alpha, {all.samples, all.steps, all.states()});
    // Hosts that request the loss of each sample alone give one tensor for both.
    const bool is_one = args.reduction == ReductionNone && is_same_memory(args.out, args.neg_log_likelihood);
    const Tensor none;
    const Tensor& out = is_one ? none : args.out;
    require_separate({&out, &args.neg_log_likelihood, &args.log_alpha},
                     {&args.log_probs, &args.targets, &args.input_lengths, &args.target_lengths});
    find_ctc_losses({out, args.neg_log_likelihood, args.log_alpha}, args.log_probs, all, args.reduction,
                    args.zero_infinity);
}

void diopigen::entry::ctc_loss_backward(const CTCLossBackwardArgs& args) {
    const Sequences all(args, kBackwardRule);
    require_shape(args.log_alpha, {all.samples, all.steps, all.states()});
    require_separate({&args.grad_input}, {&args.grad_output, &args.log_probs, &args.targets, &args.input_lengths,
                                          &args.target_lengths, &args.neg_log_likelihood, &args.log_alpha});
    const View grad_out = expanded(args.grad_output, {all.samples});
    find_ctc_gradient(args.grad_input, grad_out.tensor(), args.log_probs,
                      {args.neg_log_likelihood, args.neg_log_likelihood, args.log_alpha}, all, args.reduction,
                      args.zero_infinity);
}
