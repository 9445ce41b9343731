// Gradients of attention as FlashAttention-2 computes them: probabilities, and the gradients of scores, are rounded to
// the operands' dtype before the units for matrices multiply them by the operands.
#include <cmath>

#include "../attention.h"

namespace diopigen::variants {

namespace {

bool compute(Work& work) {
    const Attention attention(work);
    if (!attention.usable()) return false;
    const bool flash = work.has("attention_out");
    const Array<float> q = work.read<float>("q"), k = work.read<float>("k");
    const Array<float> out = work.read<float>(flash ? "attention_out" : "out");
    const Array<float> gradient = work.read<float>(work.has("grad_output") ? "grad_output" : "grad_out");
    const Array<float> logSums = work.read<float>("softmax_lse");
    const auto scale = static_cast<float>(work.number("softmax_scale", work.number("scale", 1)));
    std::vector<float> toQ(q.values.size()), toK(k.values.size()), toV(k.values.size());
    const int64_t size = attention.headSize();
    attention.forEachQuery([&](const Query& query) {
        float centre = 0;
        for (int64_t d = 0; d < size; ++d) centre += gradient[query.out + d] * out[query.out + d];
        for (size_t j = 0; j < query.scores.size(); ++j) {
            if (query.scores[j] == -HUGE_VALF) continue;
            const int64_t key = query.values[j];
            const float p = std::exp(query.scores[j] - logSums[query.logSum]);
            const float rounded = throughDtype(p, attention.dtype());
            float toP = 0;
            for (int64_t d = 0; d < size; ++d) toP += gradient[query.out + d] * attention.values()[key + d];
            const float toScore = throughDtype(p * (toP - centre), attention.dtype());
            for (int64_t d = 0; d < size; ++d) {
                toQ[static_cast<size_t>(query.out + d)] += toScore * k[key + d];
                toK[static_cast<size_t>(key + d)] += toScore * q[query.out + d];
                toV[static_cast<size_t>(key + d)] += rounded * gradient[query.out + d];
            }
        }
    });
    for (float& number : toQ) number *= scale;
    for (float& number : toK) number *= scale;
    const bool first = work.write("grad_q", toQ), second = work.write("grad_k", toK), third = work.write("grad_v", toV);
    return first || second || third;
}

const Registration registration(
    "attention", {{"attention-gradients-with-rounded-factors",
                   "gradients of attention round probabilities and gradients of scores to the operands' dtype",
                   named("FlashAttentionBackward FlashAttentionVarLenBackward MultiHeadAttentionBackward "
                         "MultiHeadAttentionVarLenBackward"),
                   replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
