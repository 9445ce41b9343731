// CTCLoss and its gradient (Graves et al., 2006), all sums of probabilities as logarithms in double. The states of a
// sample are its target with a blank before, between and behind the classes.
#include "ctc.h"

#include <diopi/functions.h>

#include <algorithm>

#include "classes.h"

using namespace diopi::cpu;

namespace {

constexpr SequenceRules kForwardRules{
    "targets.rank: targets has 1 or 2 dimensions",
    "C3: input_lengths are at most T, target_lengths fit targets, and targets are classes other than blank",
    "C5: padded targets have one row for each sample"};
constexpr SequenceRules kBackwardRules{
    "targets.rank: targets has 1 or 2 dimensions",
    "C4: input_lengths are at most T, target_lengths fit targets, and targets are classes other than blank",
    "C6: padded targets have one row for each sample"};

bool is_same_memory(const Tensor& one, const Tensor& other) {
    return one.data == other.data && is_same_shape(one, other) &&
           std::equal(one.strides, one.strides + one.rank, other.strides);
}

}  // namespace

DIOPI_API diopiError_t diopiCTCLoss(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                    diopiTensorHandle_t neg_log_likelihood, diopiTensorHandle_t log_alpha,
                                    diopiConstTensorHandle_t log_probs, diopiConstTensorHandle_t targets,
                                    diopiConstTensorHandle_t input_lengths, diopiConstTensorHandle_t target_lengths,
                                    int64_t blank, diopiReduction_t reduction, bool zero_infinity) {
    return guarded("diopiCTCLoss", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloat32 | kFloat64);
        const Tensor losses_tensor = tensor("neg_log_likelihood", neg_log_likelihood, kFloat32 | kFloat64);
        const Tensor alpha_tensor = tensor("log_alpha", log_alpha, kFloat32 | kFloat64);
        const Tensor input_tensor = tensor("log_probs", log_probs, kFloat32 | kFloat64);
        const Tensor targets_tensor = tensor("targets", targets, kIndex);
        const Tensor lengths_tensor = tensor("input_lengths", input_lengths, kIndex);
        const Tensor counts_tensor = tensor("target_lengths", target_lengths, kIndex);
        check_reduction(reduction);
        require_rank(input_tensor, 3, 3);
        const Sequences all(input_tensor, targets_tensor, lengths_tensor, counts_tensor, blank, kForwardRules);
        require_shape(out_tensor,
                      reduction == ReductionNone ? std::vector<int64_t>{all.samples} : std::vector<int64_t>());
        require_shape(losses_tensor, {all.samples});
        require_shape(alpha_tensor, {all.samples, all.steps, all.states()});
        // Hosts that want the loss of each sample alone give one tensor for both.
        const bool is_one = reduction == ReductionNone && is_same_memory(out_tensor, losses_tensor);
        if (!is_one) {
            require_disjoint(out_tensor, losses_tensor);
        }
        require_disjoint(out_tensor, alpha_tensor);
        require_disjoint(losses_tensor, alpha_tensor);
        for (const Tensor* written : {&out_tensor, &losses_tensor, &alpha_tensor}) {
            require_same_dtype(*written, input_tensor);
            require_no_overlap(*written);
            require_one_device({&input_tensor, written, &targets_tensor});  // lengths may lie on the host
            for (const Tensor* operand : {&input_tensor, &targets_tensor, &lengths_tensor, &counts_tensor}) {
                require_disjoint(*written, *operand);
            }
        }
        const Tensor none;
        find_ctc_losses({is_one ? none : out_tensor, losses_tensor, alpha_tensor}, input_tensor, all, reduction,
                        zero_infinity);
    });
}

DIOPI_API diopiError_t diopiCTCLossBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t log_probs,
                                            diopiConstTensorHandle_t targets, diopiConstTensorHandle_t input_lengths,
                                            diopiConstTensorHandle_t target_lengths,
                                            diopiConstTensorHandle_t neg_log_likelihood,
                                            diopiConstTensorHandle_t log_alpha, int64_t blank,
                                            diopiReduction_t reduction, bool zero_infinity) {
    return guarded("diopiCTCLossBackward", ctx, [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloat32 | kFloat64);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloat32 | kFloat64);
        const Tensor input_tensor = tensor("log_probs", log_probs, kFloat32 | kFloat64);
        const Tensor targets_tensor = tensor("targets", targets, kIndex);
        const Tensor lengths_tensor = tensor("input_lengths", input_lengths, kIndex);
        const Tensor counts_tensor = tensor("target_lengths", target_lengths, kIndex);
        const Tensor losses_tensor = tensor("neg_log_likelihood", neg_log_likelihood, kFloat32 | kFloat64);
        const Tensor alpha_tensor = tensor("log_alpha", log_alpha, kFloat32 | kFloat64);
        check_reduction(reduction);
        require_rank(input_tensor, 3, 3);
        const Sequences all(input_tensor, targets_tensor, lengths_tensor, counts_tensor, blank, kBackwardRules);
        require_same_shape(gradient_tensor, input_tensor);
        require_shape(losses_tensor, {all.samples});
        require_shape(alpha_tensor, {all.samples, all.steps, all.states()});
        require_broadcastable(incoming_tensor, losses_tensor);
        require_incoming(incoming_tensor, reduction);
        require_no_overlap(gradient_tensor);
        for (const Tensor* operand : {&incoming_tensor, &losses_tensor, &alpha_tensor}) {
            require_same_dtype(*operand, input_tensor);
        }
        require_same_dtype(gradient_tensor, input_tensor);
        require_one_device(
            {&input_tensor, &gradient_tensor, &incoming_tensor, &targets_tensor, &losses_tensor, &alpha_tensor});
        for (const Tensor* operand : {&incoming_tensor, &input_tensor, &targets_tensor, &lengths_tensor, &counts_tensor,
                                      &losses_tensor, &alpha_tensor}) {
            require_disjoint(gradient_tensor, *operand);
        }
        const View incoming = expanded(incoming_tensor, {all.samples});
        find_ctc_gradient(gradient_tensor, incoming.tensor(), input_tensor,
                          {losses_tensor, losses_tensor, alpha_tensor}, all, reduction, zero_infinity);
    });
}
