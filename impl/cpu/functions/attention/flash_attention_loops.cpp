// FlashAttention and MultiHeadAttention by tiles of queries and keys.
#include "backward_from.h"

namespace diopi::cpu::attention {

void forward_with_lse(const Problem& problem, const Scoring& scoring, const Operands& operands,
                      const Tensor& out_tensor, float* lse, int64_t longest) {
    const Input<float> q(operands.q);
    const Input<float> k(operands.k);
    const Input<float> v(operands.v);
    const Output<float> out(out_tensor);
    forward(problem, scoring, q.data(), k.data(), v.data(), out.data(),
            [&](const Place& place, float maximum, float sum) {
                const bool is_seen = sum != 0;
                lse[statistic(problem, longest, place)] =
                    is_seen ? maximum + std::log(sum) : std::numeric_limits<float>::infinity();
            });
    out.store();
}

void backward_from_lse(const Problem& problem, const Scoring& scoring, const Operands& operands,
                       const GradientTensors& tensors, const Tensor& lse_tensor, int64_t longest) {
    const Input<float> lse(lse_tensor);
    backward_from(problem, scoring, operands, tensors,
                  [&](const Place& place) { return Normal<float>{lse[statistic(problem, longest, place)], 1.0f}; });
}

void record_dropout(const Problem& problem, const Dropout& dropout, Bool* mask, int64_t longest_q, int64_t longest_k) {
    for_each_query(problem, [&](const Place& place) {
        const Span all{0, problem.sequences[static_cast<size_t>(place.sequence)].keys};
        Bool* row = mask + statistic(problem, longest_q, place) * longest_k;
        drop(problem, dropout, place, all, [&](int64_t j, bool kept) { row[j] = Bool(kept); });
    });
}

}  // namespace diopi::cpu::attention
