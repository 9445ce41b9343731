// Attention whose statistics for the gradient are the maximum and the sum of each query.
#ifndef DIOPI_CORE_FUNCTIONS_ATTENTION_CUSTOMIZED_FLASH_ATTENTION_H_
#define DIOPI_CORE_FUNCTIONS_ATTENTION_CUSTOMIZED_FLASH_ATTENTION_H_

#include "flash_attention.h"

namespace diopigen::core::attention {

// Where the statistics of a query stand: [queries of all sequences, heads, copies] where `is_joined` holds, else
// [batch, heads, queries, copies].
struct StatisticsLayout {
    bool is_joined;
    int64_t queries;
};

// ---- Each library has its own. ----

// One byte for each probability: whether dropout keeps it.
void record_mask(const Tensor& mask, const Dropout& dropout);
// The statistics, of one copy, are contiguous tensors that share no memory with others.
void forward_with_statistics(const Problem& problem, const Scoring& scoring, const Operands& operands,
                             const Tensor& out_tensor, const Tensor& maxima, const Tensor& sums,
                             const StatisticsLayout& layout);
void backward_from_statistics(const Problem& problem, const Scoring& scoring, const Operands& operands,
                              const GradientTensors& tensors, const Tensor& maxima_tensor, const Tensor& sums_tensor,
                              const StatisticsLayout& layout);

}  // namespace diopigen::core::attention

#endif  // DIOPI_CORE_FUNCTIONS_ATTENTION_CUSTOMIZED_FLASH_ATTENTION_H_
