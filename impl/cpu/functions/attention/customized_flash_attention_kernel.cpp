#include "attention/customized_flash_attention.h"
#include "by_heads.h"

namespace diopigen::core::attention {

namespace {

int64_t index_of(const Problem& problem, const StatisticsLayout& layout, const QueryIndex& query_index) {
    if (!layout.is_joined) {
        return statistic(problem, layout.queries, query_index);
    }
    const int64_t first = problem.sequences[static_cast<size_t>(query_index.sequence)].query_row;
    return (first + query_index.query) * problem.heads + query_index.head;
}

}  // namespace

void record_mask(const Tensor& mask, const Dropout& dropout) {
    auto* bytes = static_cast<uint8_t*>(mask.data);
    parallel_for(mask.numel, 8192, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            bytes[i] = dropout.keeps(i) ? 1 : 0;
        }
    });
}

void forward_with_statistics(const Problem& problem, const Scoring& scoring, const Operands& operands,
                             const Tensor& out_tensor, const Tensor& maxima, const Tensor& sums,
                             const StatisticsLayout& layout) {
    auto* maximum_of = maxima.elements<float>();
    auto* sum_of = sums.elements<float>();
    forward_of(problem, scoring, operands, out_tensor, [&](const QueryIndex& query_index, float maximum, float sum) {
        maximum_of[index_of(problem, layout, query_index)] = maximum;
        sum_of[index_of(problem, layout, query_index)] = sum;
    });
}

void backward_from_statistics(const Problem& problem, const Scoring& scoring, const Operands& operands,
                              const GradientTensors& tensors, const Tensor& maxima_tensor, const Tensor& sums_tensor,
                              const StatisticsLayout& layout) {
    const Input<float> maxima(maxima_tensor);
    const Input<float> sums(sums_tensor);
    const int64_t copies = maxima_tensor.shape[maxima_tensor.rank - 1];
    backward_of(problem, scoring, operands, tensors, [&](const QueryIndex& query_index) {
        const int64_t at = index_of(problem, layout, query_index) * copies;
        return Normal<float>{maxima[at], sums[at]};
    });
}

}  // namespace diopigen::core::attention
