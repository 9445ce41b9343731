// ApplyPenalty and ApplyPenaltyV2: lower the logits of tokens that a sequence already holds. Only the logits of listed
// tokens are read and written, where they lie.
#include <diopi/functions_ext.h>

#include "kernels.h"
#include "operands.h"

using namespace diopi::cpu;
using namespace diopi::cpu::attention;

namespace {

void require_tokens(const std::vector<int64_t>& tokens, int64_t count, const char* message) {
    for (const int64_t token : tokens) {
        require(token >= 0 && token < count, message);
    }
}

}  // namespace

DIOPI_API diopiError_t diopiApplyPenalty(diopiContextHandle_t ctx, diopiTensorHandle_t logits,
                                         diopiConstTensorHandle_t presence_penalty,
                                         diopiConstTensorHandle_t frequency_penalty,
                                         diopiConstTensorHandle_t p_token_ids, diopiConstTensorHandle_t p_token_counts,
                                         diopiConstTensorHandle_t p_cumsum_seq_len, int /*p_max_len_in_batch*/) {
    return guarded("diopiApplyPenalty", ctx, [&] {
        const Tensor logit_tensor = tensor("logits", logits, kFloating);
        const Tensor presence_tensor = tensor("presence_penalty", presence_penalty, kFloating);
        const Tensor frequency_tensor = tensor("frequency_penalty", frequency_penalty, kFloating);
        const Tensor id_tensor = tensor("p_token_ids", p_token_ids, kIndex);
        const Tensor count_tensor = tensor("p_token_counts", p_token_counts, kIndex);
        const Tensor start_tensor = tensor("p_cumsum_seq_len", p_cumsum_seq_len, kIndex);
        require_rank(logit_tensor, 2, 2);
        require_rank(id_tensor, 1, 1);
        const int64_t batch = logit_tensor.shape[0];
        require_shape(presence_tensor, {batch});
        require_shape(frequency_tensor, {batch});
        require_same_shape(count_tensor, id_tensor);
        require_shape(start_tensor, {batch + 1});
        require_separate({&logit_tensor},
                         {&presence_tensor, &frequency_tensor, &id_tensor, &count_tensor, &start_tensor});
        const std::vector<int64_t> ids = indices(id_tensor);
        std::vector<int64_t> ends = indices(start_tensor);
        require_tokens(ids, logit_tensor.shape[1],
                       "C1: every entry of p_token_ids is at least 0 and below the vocabulary");
        const char* uneven = "C2: p_cumsum_seq_len starts at 0, never falls, and ends at the length of p_token_ids";
        require(ends.front() == 0, uneven);
        require_ends(ends, id_tensor.numel, uneven, id_tensor.numel, uneven);
        const Tensor none;
        Penalties penalties{presence_tensor, frequency_tensor, none, count_tensor, {}, {}};
        for (int64_t b = 0; b < batch; ++b) {
            for (int64_t i = ends[static_cast<size_t>(b)]; i < ends[static_cast<size_t>(b) + 1]; ++i) {
                penalties.places.push_back(b * logit_tensor.shape[1] + ids[static_cast<size_t>(i)]);
                penalties.rows.push_back(b);
            }
        }
        penalise(logit_tensor, penalties);
    });
}

DIOPI_API diopiError_t diopiApplyPenaltyV2(diopiContextHandle_t ctx, diopiTensorHandle_t logits,
                                           diopiConstTensorHandle_t presence_penalty,
                                           diopiConstTensorHandle_t frequency_penalty,
                                           diopiConstTensorHandle_t repetition_penalty,
                                           diopiConstTensorHandle_t p_token_ids,
                                           diopiConstTensorHandle_t p_token_counts) {
    return guarded("diopiApplyPenaltyV2", ctx, [&] {
        const Tensor logit_tensor = tensor("logits", logits, kFloating);
        const Tensor presence_tensor = tensor("presence_penalty", presence_penalty, kFloating);
        const Tensor frequency_tensor = tensor("frequency_penalty", frequency_penalty, kFloating);
        const Tensor repetition_tensor = tensor("repetition_penalty", repetition_penalty, kFloating);
        const Tensor id_tensor = tensor("p_token_ids", p_token_ids, kIndex);
        const Tensor count_tensor = tensor("p_token_counts", p_token_counts, kIndex);
        require_rank(logit_tensor, 2, 2);
        require_rank(id_tensor, 1, 1);
        require_same_shape(count_tensor, id_tensor);
        for (const Tensor* penalty : {&presence_tensor, &frequency_tensor, &repetition_tensor}) {
            require_broadcastable(*penalty, id_tensor);
        }
        require_separate({&logit_tensor},
                         {&presence_tensor, &frequency_tensor, &repetition_tensor, &id_tensor, &count_tensor});
        const View presence_view = expanded(presence_tensor, shape_of(id_tensor));
        const View frequency_view = expanded(frequency_tensor, shape_of(id_tensor));
        const View repetition_view = expanded(repetition_tensor, shape_of(id_tensor));
        const std::vector<int64_t> ids = indices(id_tensor);
        require_tokens(ids, logit_tensor.numel,
                       "C1: every entry of p_token_ids is at least 0 and below the number of logits");
        require_positive(repetition_view.tensor(), "C2: every repetition_penalty is above 0");
        penalise(logit_tensor,
                 {presence_view.tensor(), frequency_view.tensor(), repetition_view.tensor(), count_tensor, ids, {}});
    });
}
