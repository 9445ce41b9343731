// Attention whose exponentials have the base 2: scores are scaled by its logarithm, and the product is fused with the
// subtraction of the maximum, as GPU kernels do.
#include <algorithm>

#include "../attention.h"

namespace diopigen::variants {

namespace {

constexpr float kLog2E = 1.44269504F, kLn2 = 0.693147181F;

bool compute(Work& work) {
    const Attention attention(work);
    if (!attention.usable()) return false;
    std::vector<float> out = attention.resultsBefore(), logSums = attention.logSumsBefore();
    const int64_t size = attention.headSize();
    attention.forEachQuery([&](const Query& query) {
        float maximum = -HUGE_VALF, sum = 0;
        for (const float score : query.scores) maximum = std::max(maximum, score);
        const bool blind = maximum == -HUGE_VALF;
        std::vector<float> weights;
        for (const float score : query.scores) {
            weights.push_back(blind ? 0 : std::exp2(std::fma(score, kLog2E, -maximum * kLog2E)));
            sum += weights.back();
        }
        for (int64_t d = 0; d < size; ++d) {
            float total = 0;
            for (size_t j = 0; j < weights.size(); ++j) total += weights[j] * attention.values()[query.values[j] + d];
            out[static_cast<size_t>(query.out + d)] = blind ? 0 : total * (1 / sum);
        }
        if (!logSums.empty()) {
            logSums[static_cast<size_t>(query.logSum)] = blind ? HUGE_VALF : maximum + std::log2(sum) * kLn2;
        }
    });
    return attention.write(out, logSums);
}

const Registration registration(
    "attention",
    {{"attention-in-base-2", "attention takes exponentials to the base 2 and divides by a reciprocal",
      named("FlashAttention FlashAttentionVarLen MultiHeadAttention MultiHeadAttentionVarLen"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
