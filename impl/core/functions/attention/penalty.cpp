// ApplyPenalty and ApplyPenaltyV2: lower the logits of tokens that a sequence already holds. Only the logits of listed
// tokens are read and written, where they lie.
#include "attention.h"
#include "attention_kernels.h"
#include "operands.h"

using namespace diopigen::core;
using namespace diopigen::core::attention;

namespace {

void require_tokens(const std::vector<int64_t>& tokens, int64_t count, const char* message) {
    for (const int64_t token : tokens) {
        require(token >= 0 && token < count, message);
    }
}

}  // namespace

void diopigen::entry::apply_penalty(const ApplyPenaltyArgs& args) {
    require_separate({&args.logits}, {&args.presence_penalty, &args.frequency_penalty, &args.p_token_ids,
                                      &args.p_token_counts, &args.p_cumsum_seq_len});
    const std::vector<int64_t> ids = indices(args.p_token_ids);
    const std::vector<int64_t> ends = indices(args.p_cumsum_seq_len);
    const int64_t vocabulary = args.logits.shape[1];
    require_tokens(ids, vocabulary, "C1: every entry of p_token_ids is at least 0 and below the vocabulary");
    const auto count = static_cast<int64_t>(ids.size());
    const char* uneven = "C2: p_cumsum_seq_len starts at 0, never falls, and ends at the length of p_token_ids";
    require(ends.front() == 0, uneven);
    require_ends(ends, count, uneven, count, uneven);
    const Tensor none;
    Penalties penalties{args.presence_penalty, args.frequency_penalty, none, args.p_token_counts, {}, {}};
    for (int64_t b = 0; b < args.logits.shape[0]; ++b) {
        for (int64_t i = ends[static_cast<size_t>(b)]; i < ends[static_cast<size_t>(b) + 1]; ++i) {
            penalties.logit_indices.push_back(b * vocabulary + ids[static_cast<size_t>(i)]);
            penalties.rows.push_back(b);
        }
    }
    penalise(args.logits, penalties);
}

void diopigen::entry::apply_penalty_v2(const ApplyPenaltyV2Args& args) {
    require_separate({&args.logits}, {&args.presence_penalty, &args.frequency_penalty, &args.repetition_penalty,
                                      &args.p_token_ids, &args.p_token_counts});
    const std::vector<int64_t> ids = indices(args.p_token_ids);
    const std::vector<int64_t> each{args.p_token_ids.numel};
    const View presence = expanded(args.presence_penalty, each);
    const View frequency = expanded(args.frequency_penalty, each);
    const View repetition = expanded(args.repetition_penalty, each);
    require_tokens(ids, args.logits.numel,
                   "C1: every entry of p_token_ids is at least 0 and below the number of logits");
    require_positive(repetition.tensor(), "C2: every repetition_penalty is above 0");
    penalise(args.logits, {presence.tensor(), frequency.tensor(), repetition.tensor(), args.p_token_counts, ids, {}});
}
