// The two shapes in which FlashAttention and MultiHeadAttention come: padded batches and joined sequences. Both return
// the logarithm of the sum of exponentials of each query, and take it back for the gradient.
#ifndef DIOPI_CORE_FUNCTIONS_ATTENTION_FLASH_ATTENTION_H_
#define DIOPI_CORE_FUNCTIONS_ATTENTION_FLASH_ATTENTION_H_

#include "diopi_core/raw_elements.h"
#include "operands.h"

namespace diopigen::core::attention {

// Where the statistics of a query are in an array [batch, heads, longest].
inline int64_t statistic(const Problem& problem, int64_t longest, const QueryIndex& query_index) {
    return (query_index.sequence * problem.heads + query_index.head) * longest + query_index.query;
}

// `lse` is a dense array [batch, heads, longest].
void forward_with_lse(const Problem& problem, const Scoring& scoring, const Operands& operands,
                      const Tensor& out_tensor, float* lse, int64_t longest);

// What a backward call reads and writes besides q, k and v.
struct GradientTensors {
    Tensor q;
    Tensor k;
    Tensor v;
    Tensor out;
    Tensor grad_out;
};

void backward_from_lse(const Problem& problem, const Scoring& scoring, const Operands& operands,
                       const GradientTensors& tensors, const Tensor& lse_tensor, int64_t longest);

// Which probabilities dropout keeps, in a dense array [batch, heads, longest_q, longest_k].
void record_dropout(const Problem& problem, const Dropout& dropout, Bool* mask, int64_t longest_q, int64_t longest_k);

// What a call with joined sequences says of them; `uneven` and `too_long` are the constraints on the starts.
struct Starts {
    const Tensor& q;
    const Tensor& kv;
    int64_t longest_q;
    int64_t longest_kv;
    const char* uneven;
    const char* too_long;

    Problem problem(const Operands& operands) const {
        return joined_problem(operands, ends(q, operands.q.shape[0], longest_q),
                              ends(kv, operands.k.shape[0], longest_kv));
    }

  private:
    // The rows behind each sequence: all starts but the first, which is 0.
    std::vector<int64_t> ends(const Tensor& starts, int64_t total, int64_t longest) const {
        std::vector<int64_t> rows = indices(starts);
        require(!rows.empty() && rows.front() == 0, uneven);
        rows.erase(rows.begin());
        require_ends(rows, total, uneven, longest, too_long);
        return rows;
    }
};

}  // namespace diopigen::core::attention

#endif  // DIOPI_CORE_FUNCTIONS_ATTENTION_FLASH_ATTENTION_H_
