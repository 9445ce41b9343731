// Attention with caches and prompts, as serving has it.
#ifndef DIOPI_CORE_FUNCTIONS_ATTENTION_DECODING_H_
#define DIOPI_CORE_FUNCTIONS_ATTENTION_DECODING_H_

#include <vector>

#include "operands.h"

namespace diopigen::core::attention {

// The cached tokens of each sequence: the slots where they lie and the columns of their scores.
struct Cached {
    std::vector<int64_t> starts;   // column of the first score
    std::vector<int64_t> lengths;  // tokens of each sequence
    std::vector<int64_t> slots;    // of all sequences, one after another
    std::vector<int64_t> first;    // where the slots of each sequence start
};

// ---- What is done to elements. Each library has its own. ----

// scores[head, start + j] = q k / sqrt(size) for cached token j of each sequence, with q [batch, heads, size] and k
// [slots, heads, size]. The other scores stay.
void score_tokens(const Tensor& out, const Tensor& q, const Tensor& k, const Cached& cached);
// The sums of v [slots, heads, size] with the softmax of those scores: [batch, heads, size].
void sum_tokens(const Tensor& out, const Tensor& scores_tensor, const Tensor& v, const Cached& cached);

// What becomes of rows of `out` that belong to no sequence.
enum class Rest { kUnchanged, kZero };

void attend(const Problem& problem, const Scoring& scoring, const Tensor& out, const Operands& operands, Rest rest);
// The keys and values of all sequences are rows of theirs, of which operands.k and operands.v hold any number; the
// start of a sequence counts from the first of the rows. For dtypes that are computed in float.
void attend_to_rows(const Problem& problem, const Scoring& scoring, const Tensor& out, const Operands& operands,
                    const std::vector<int64_t>& rows);

}  // namespace diopigen::core::attention

#endif  // DIOPI_CORE_FUNCTIONS_ATTENTION_DECODING_H_
