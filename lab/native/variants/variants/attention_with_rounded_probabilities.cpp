// Attention as FlashAttention-2 and cuDNN compute it: the exponentials of a block of keys are rounded to the dtype of
// the operands, as the units for matrices read them, and sums are kept in float32 under a running maximum.
#include <algorithm>

#include "../attention.h"

namespace diopigen::variants {

namespace {

constexpr int64_t kBlock = 16;

bool compute(Work& work) {
    const Attention attention(work);
    if (!attention.usable()) return false;
    std::vector<float> out = attention.resultsBefore(), logSums = attention.logSumsBefore();
    const int64_t size = attention.headSize();
    attention.forEachQuery([&](const Query& query) {
        float maximum = -HUGE_VALF, sum = 0;
        std::vector<float> weighted(static_cast<size_t>(size), 0);
        const auto keys = static_cast<int64_t>(query.scores.size());
        for (int64_t first = 0; first < keys; first += kBlock) {
            const int64_t end = std::min(first + kBlock, keys);
            float highest = maximum;
            for (int64_t j = first; j < end; ++j) highest = std::max(highest, query.scores[static_cast<size_t>(j)]);
            if (highest == -HUGE_VALF) continue;  // nothing is seen so far
            const float shrink = std::exp(maximum - highest);
            sum *= shrink;
            for (float& number : weighted) number *= shrink;
            for (int64_t j = first; j < end; ++j) {
                const float weight = std::exp(query.scores[static_cast<size_t>(j)] - highest);
                const float rounded = throughDtype(weight, attention.dtype());
                sum += weight;
                for (int64_t d = 0; d < size; ++d) {
                    weighted[static_cast<size_t>(d)] +=
                        rounded * attention.values()[query.values[static_cast<size_t>(j)] + d];
                }
            }
            maximum = highest;
        }
        const bool blind = maximum == -HUGE_VALF;
        for (int64_t d = 0; d < size; ++d) {
            out[static_cast<size_t>(query.out + d)] = blind ? 0 : weighted[static_cast<size_t>(d)] / sum;
        }
        if (!logSums.empty()) {
            logSums[static_cast<size_t>(query.logSum)] = blind ? HUGE_VALF : maximum + std::log(sum);
        }
    });
    return attention.write(out, logSums);
}

const Registration registration(
    "attention",
    {{"attention-with-rounded-probabilities",
      "attention rounds exponentials to the operands' dtype before it multiplies them by the values",
      named("FlashAttention FlashAttentionVarLen MultiHeadAttention MultiHeadAttentionVarLen"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
