// FlashAttention and MultiHeadAttention by tiles of queries and keys.
#include <cmath>
#include <limits>

#include "by_heads.h"

namespace diopigen::core::attention {

void forward_with_lse(const Problem& problem, const Scoring& scoring, const Operands& operands,
                      const Tensor& out_tensor, float* lse, int64_t longest) {
    const auto record = [&](const QueryIndex& query_index, float maximum, float sum) {
        const bool is_seen = sum != 0;
        lse[statistic(problem, longest, query_index)] =
            is_seen ? maximum + std::log(sum) : std::numeric_limits<float>::infinity();
    };
    forward_of(problem, scoring, operands, out_tensor, record);
}

void backward_from_lse(const Problem& problem, const Scoring& scoring, const Operands& operands,
                       const GradientTensors& tensors, const Tensor& lse_tensor, int64_t longest) {
    const Input<float> lse(lse_tensor);
    backward_of(problem, scoring, operands, tensors, [&](const QueryIndex& query_index) {
        return Normal<float>{lse[statistic(problem, longest, query_index)], 1.0f};
    });
}

void record_dropout(const Problem& problem, const Dropout& dropout, Bool* mask, int64_t longest_q, int64_t longest_k) {
    for_each_query(problem, [&](const QueryIndex& query_index) {
        const Span all{0, problem.sequences[static_cast<size_t>(query_index.sequence)].keys};
        Bool* row = mask + statistic(problem, longest_q, query_index) * longest_k;
        drop(problem, dropout, query_index, all, [&](int64_t j, bool survives) { row[j] = Bool(survives); });
    });
}

}  // namespace diopigen::core::attention
