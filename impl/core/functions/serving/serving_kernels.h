// What the layers of a served language model do to elements, other than products, norms and attention itself.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_SERVING_SERVING_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_SERVING_SERVING_KERNELS_H_

#include <vector>

#include "diopi_core/tensor.h"

namespace diopigen::core::serving {

// residual += layer + bias, with one rounding; a null bias adds nothing.
void add_to_residual(const Tensor& residual, const Tensor& layer, const Tensor& bias);

// gate = silu(gate) * up, for contiguous tensors.
void multiply_by_silu(const Tensor& gate, const Tensor& up);

// ---- Caches of one layer, [batch, kv_heads, positions, size]. ----

// Where the keys and values of a row of new tokens belong.
struct CacheIndex {
    int64_t sequence;  // -1 for a row that is left out
    int64_t position;
};

struct Heads {
    int64_t queries;
    int64_t keys;
    int64_t size;
    int64_t rotated;  // leading elements, in pairs 2 i and 2 i + 1
    double theta;
};

// Row i of `projected` holds the heads of queries, keys and values, one after the other; `bias`, which may be null, is
// added. Queries and keys are rotated by the angles of their position. Queries go to row i of `queries` [tokens,
// heads, size], a contiguous tensor, keys and values to the caches.
void cache_tokens(const Tensor& queries, const Tensor& keys, const Tensor& values, const Tensor& projected,
                  const Tensor& bias, const std::vector<CacheIndex>& tokens, const Heads& heads);

}  // namespace diopigen::core::serving

#endif  // DIOPI_CORE_FUNCTIONS_SERVING_SERVING_KERNELS_H_
