// What operators of language models do to elements, other than attention itself.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_ATTENTION_ATTENTION_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_ATTENTION_ATTENTION_KERNELS_H_

#include <vector>

#include "diopi_core/tensor.h"

namespace diopigen::core::attention {

// ---- Rotary embedding. ----

// x is [..., positions, heads, size], the angles are [positions, 1, size / 2]. Pairs are elements 2 i and 2 i + 1 where
// `interleaved` holds, else i and i + size / 2. `conj` turns the other way round.
void rotate_pairs(const Tensor& out, const Tensor& x, const Tensor& cos, const Tensor& sin, bool conj,
                  bool interleaved);
// In place: heads of `size` elements, several to each token, and angles of `size` elements to each token.
void rotate_halves(const Tensor& heads_tensor, const Tensor& cos, const Tensor& sin, int64_t size);

// ---- Softmax over the last dimension of [batch, heads, queries, keys]. Hidden scores count as -10000: those that the
// mask names, or those above the diagonal where `is_triangle` holds. ----

void masked_softmax(const Tensor& out, const Tensor& in, const Tensor& mask, double scale, bool is_triangle);
void masked_softmax_gradient(const Tensor& grad_in, const Tensor& grad_out, const Tensor& out, const Tensor& mask,
                             double scale, bool is_triangle);

// ---- Penalties of tokens, one after the other where a logit is named more than once. ----

struct Penalties {
    const Tensor& presence;
    const Tensor& frequency;
    const Tensor& repetition;  // may be null
    const Tensor& counts;
    std::vector<int64_t> logit_indices;  // of the logits, in row-major order
    std::vector<int64_t> rows;           // of the penalties, for each index; where there are none, its own number
};

void require_positive(const Tensor& numbers, const char* message);
void penalise(const Tensor& logits, const Penalties& penalties);

// ---- Caches of slots. ----

// Slice i of `tokens` goes to slice slots[i] of `cache`. Of tokens that go to one slot, the last one stays.
void copy_to_slots(const Tensor& cache, const Tensor& tokens, const std::vector<int64_t>& slots);

}  // namespace diopigen::core::attention

#endif  // DIOPI_CORE_FUNCTIONS_ATTENTION_ATTENTION_KERNELS_H_
