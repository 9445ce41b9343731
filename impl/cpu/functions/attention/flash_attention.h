// The two shapes in which FlashAttention and MultiHeadAttention come: padded batches and joined sequences. Both return
// the logarithm of the sum of exponentials of each query, and take it back for the gradient.
#ifndef DIOPI_CPU_FUNCTIONS_ATTENTION_FLASH_ATTENTION_H_
#define DIOPI_CPU_FUNCTIONS_ATTENTION_FLASH_ATTENTION_H_

#include "diopi_cpu/words.h"
#include "operands.h"

namespace diopi::cpu::attention {

// Where the statistics of a query stand in an array [batch, heads, longest].
inline int64_t statistic(const Problem& problem, int64_t longest, const Place& place) {
    return (place.sequence * problem.heads + place.head) * longest + place.query;
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

    // Checks dtypes and shapes against the operands. Null handles are refused.
    GradientTensors(const Operands& operands, Tensor grad_q, Tensor grad_k, Tensor grad_v, Tensor out_tensor,
                    Tensor grad_out_tensor)
        : q(grad_q), k(grad_k), v(grad_v), out(out_tensor), grad_out(grad_out_tensor) {
        for (const Tensor* tensor : {&q, &out, &grad_out}) {
            require_same_dtype(*tensor, operands.q);
            require_same_shape(*tensor, operands.q);
        }
        for (const Tensor* tensor : {&k, &v}) {
            require_same_dtype(*tensor, operands.q);
            require_same_shape(*tensor, operands.k);
        }
    }
};

void backward_from_lse(const Problem& problem, const Scoring& scoring, const Operands& operands,
                       const GradientTensors& tensors, const Tensor& lse_tensor, int64_t longest);

// Which probabilities dropout keeps, in a dense array [batch, heads, longest_q, longest_k].
void record_dropout(const Problem& problem, const Dropout& dropout, Bool* mask, int64_t longest_q, int64_t longest_k);

// The starts of joined sequences as a tensor gives them, followed by the total: checked, and made the ends of each.
inline std::vector<int64_t> ends_from_starts(const Tensor& starts, int64_t total, int64_t longest) {
    std::vector<int64_t> ends = indices(starts);
    const std::string name = std::string("parameter '") + starts.name + "'";
    const std::string message = name + " starts at 0, never falls, and ends at the number of rows";
    require(!ends.empty() && ends.front() == 0, message.c_str());
    ends.erase(ends.begin());
    require_ends(ends, total, message.c_str(), longest, (name + " holds a longer sequence than the longest").c_str());
    return ends;
}

}  // namespace diopi::cpu::attention

#endif  // DIOPI_CPU_FUNCTIONS_ATTENTION_FLASH_ATTENTION_H_
