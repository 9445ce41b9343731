// ApplyPenalty and ApplyPenaltyV2: lower the logits of tokens that a sequence already holds. Only the logits of listed
// tokens are read and written, where they lie.
#include <diopi/functions_ext.h>

#include <string>

#include "diopi_cpu/cast.h"
#include "diopi_cpu/dense.h"
#include "operands.h"

using namespace diopi::cpu;
using namespace diopi::cpu::attention;

namespace {

// Changes one logit through `change`, which takes and gives a double.
template <typename T, typename Change>
void update(const Tensor& logits, int64_t row, int64_t token, Change&& change) {
    T& logit = logits.elements<T>()[row * logits.strides[0] + token * logits.strides[1]];
    logit = cast<T>(change(cast<double>(logit)));
}

void require_tokens(const std::vector<int64_t>& tokens, int64_t count, const char* message) {
    for (const int64_t token : tokens) {
        require(token >= 0 && token < count, message);
    }
}

}  // namespace

DIOPI_API diopiError_t diopiApplyPenalty(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t logits,
                                         diopiConstTensorHandle_t presence_penalty,
                                         diopiConstTensorHandle_t frequency_penalty,
                                         diopiConstTensorHandle_t p_token_ids, diopiConstTensorHandle_t p_token_counts,
                                         diopiConstTensorHandle_t p_cumsum_seq_len, int /*p_max_len_in_batch*/) {
    return guarded("diopiApplyPenalty", [&] {
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
        const std::vector<int64_t> counts = indices(count_tensor);
        std::vector<int64_t> ends = indices(start_tensor);
        require_tokens(ids, logit_tensor.shape[1],
                       "C1: every entry of p_token_ids is at least 0 and below the vocabulary");
        const char* uneven = "C2: p_cumsum_seq_len starts at 0, never falls, and ends at the length of p_token_ids";
        require(ends.front() == 0, uneven);
        require_ends(ends, id_tensor.numel, uneven, id_tensor.numel, uneven);
        const Input<double> presence(presence_tensor);
        const Input<double> frequency(frequency_tensor);
        dispatch<kFloating>(logit_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            for (int64_t b = 0; b < batch; ++b) {
                for (auto i = static_cast<size_t>(ends[b]); i < static_cast<size_t>(ends[b + 1]); ++i) {
                    const double amount = presence[b] + frequency[b] * static_cast<double>(counts[i]);
                    update<T>(logit_tensor, b, ids[i], [=](double logit) { return logit - amount; });
                }
            }
        });
    });
}

DIOPI_API diopiError_t diopiApplyPenaltyV2(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t logits,
                                           diopiConstTensorHandle_t presence_penalty,
                                           diopiConstTensorHandle_t frequency_penalty,
                                           diopiConstTensorHandle_t repetition_penalty,
                                           diopiConstTensorHandle_t p_token_ids,
                                           diopiConstTensorHandle_t p_token_counts) {
    return guarded("diopiApplyPenaltyV2", [&] {
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
        const Input<double> presence(presence_view.tensor());
        const Input<double> frequency(frequency_view.tensor());
        const Input<double> repetition(repetition_view.tensor());
        const std::vector<int64_t> ids = indices(id_tensor);
        const std::vector<int64_t> counts = indices(count_tensor);
        require_tokens(ids, logit_tensor.numel,
                       "C1: every entry of p_token_ids is at least 0 and below the number of logits");
        for (int64_t i = 0; i < id_tensor.numel; ++i) {
            require(repetition[i] > 0, "C2: every repetition_penalty is above 0");
        }
        dispatch<kFloating>(logit_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const int64_t vocabulary = logit_tensor.shape[1];
            for (int64_t i = 0; i < id_tensor.numel; ++i) {
                const auto at = static_cast<size_t>(i);
                const double amount = presence[i] + frequency[i] * static_cast<double>(counts[at]);
                const double factor = repetition[i];
                update<T>(logit_tensor, ids[at] / vocabulary, ids[at] % vocabulary,
                          [=](double logit) { return (logit > 0 ? logit / factor : logit * factor) - amount; });
            }
        });
    });
}
