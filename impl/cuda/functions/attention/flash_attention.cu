// FlashAttention, MultiHeadAttention and CustomizedFlashAttention: which statistics go where, and what dropout keeps.
#include <vector>

#include "attention/customized_flash_attention.h"
#include "backward.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/launch.h"
#include "forward.h"
#include "fused.h"

namespace diopigen::cuda {

namespace {

void store_mask(uint8_t* bytes, int64_t count, const attention::Dropout& dropout) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) { bytes[i] = dropout.keeps(i) ? 1 : 0; });
}

void record(const DeviceProblem& problem, const attention::Dropout& dropout, Bool* mask, int64_t longest_q,
            int64_t longest_k) {
    for_each(problem.queries * problem.heads, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t head = at % problem.heads;
        const int64_t s = problem.sequence_of_query(at / problem.heads);
        const Sequence& own = problem.sequences[s];
        const int64_t query = at / problem.heads - own.query_row;
        Bool* row = mask + ((s * problem.heads + head) * longest_q + query) * longest_k;
        for (int64_t key = 0; key < own.keys; ++key) {
            row[key] = Bool(dropout.keeps(probability_at(own, head, query, key)));
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core::attention {

std::vector<int64_t> indices(const Tensor& tensor) {
    std::vector<int64_t> values(static_cast<size_t>(tensor.numel));
    if (tensor.device == diopi_host && tensor.rank == 1) {
        // Lists of lengths that hosts keep in their own memory.
        for (int64_t i = 0; i < tensor.numel; ++i) {
            const int64_t at = i * tensor.strides[0];
            values[static_cast<size_t>(i)] =
                tensor.dtype == Dtype::kInt32 ? tensor.elements<Int32>()[at].value : tensor.elements<Int64>()[at].value;
        }
        return values;
    }
    const Input<Int64> elements(tensor);
    if (tensor.numel > 0) {
        cuda::read_back(values.data(), elements.data(), values.size() * sizeof(int64_t));
    }
    return values;
}

void forward_with_lse(const Problem& problem, const Scoring& scoring, const Operands& operands,
                      const Tensor& out_tensor, float* lse, int64_t longest) {
    const RawOutput out(out_tensor);
    if (!cuda::attend_fused(problem, scoring, operands, out.as<char>(), lse, longest)) {
        cuda::attend(problem, scoring, operands, out.as<char>(), {{problem.heads, longest}, lse, nullptr, nullptr});
    }
    out.store();
}

void backward_from_lse(const Problem& problem, const Scoring& scoring, const Operands& operands,
                       const GradientTensors& tensors, const Tensor& lse_tensor, int64_t longest) {
    const Input<float> lse(lse_tensor);
    if (!cuda::attend_fused_backward(problem, scoring, operands, tensors, lse.data(), longest)) {
        cuda::attend_backward(problem, scoring, operands, tensors, {problem.heads, longest}, lse.data(), nullptr);
    }
}

void record_mask(const Tensor& mask, const Dropout& dropout) {
    cuda::store_mask(static_cast<uint8_t*>(mask.data), mask.numel, dropout);
}

void forward_with_statistics(const Problem& problem, const Scoring& scoring, const Operands& operands,
                             const Tensor& out_tensor, const Tensor& maxima, const Tensor& sums,
                             const StatisticsLayout& layout) {
    const RawOutput out(out_tensor);
    cuda::attend(
        problem, scoring, operands, out.as<char>(),
        {{problem.heads, layout.queries, layout.is_joined}, nullptr, maxima.elements<float>(), sums.elements<float>()});
    out.store();
}

void backward_from_statistics(const Problem& problem, const Scoring& scoring, const Operands& operands,
                              const GradientTensors& tensors, const Tensor& maxima_tensor, const Tensor& sums_tensor,
                              const StatisticsLayout& layout) {
    const Input<float> maxima(maxima_tensor);
    const Input<float> sums(sums_tensor);
    const int64_t copies = maxima_tensor.shape[maxima_tensor.rank - 1];
    cuda::attend_backward(problem, scoring, operands, tensors,
                          {problem.heads, layout.queries, layout.is_joined, copies}, maxima.data(), sums.data());
}

void record_dropout(const Problem& problem, const Dropout& dropout, Bool* mask, int64_t longest_q, int64_t longest_k) {
    const cuda::ProblemOnDevice on_device(problem);
    cuda::record(on_device.problem(), dropout, mask, longest_q, longest_k);
}

}  // namespace diopigen::core::attention
