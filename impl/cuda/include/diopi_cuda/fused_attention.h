// Attention by cuDNN's fused kernels. A library that was built without cuDNN has own kernels alone (docs/cuda.md).
#ifndef DIOPI_CUDA_FUSED_ATTENTION_H_
#define DIOPI_CUDA_FUSED_ATTENTION_H_

#include <array>
#include <cstdint>
#include <vector>

#include "diopi_core/tensor.h"

namespace diopigen::cuda {

using core::Dtype;

// What a plan depends on. Tensors are [batch, rows, heads, size] and contiguous, or rows of all sequences one after
// another ("ragged" to cuDNN), in which case `queries` and `keys` are at least those of the longest sequence.
struct FusedAttention {
    Dtype dtype;
    bool is_gradient;
    int64_t batch;
    int64_t heads;
    int64_t kv_heads;
    int64_t queries;
    int64_t keys;
    int64_t size;
    bool is_joined;
    int64_t total_queries;  // at least those of all sequences
    int64_t total_keys;
    int64_t left;    // keys before its diagonal that a query sees; negative for all
    int64_t right;   // keys behind it
    bool is_square;  // each sequence has as many queries as keys: the diagonal begins at the first of both
    bool has_dropout;
    float scale;
};

// The tensors of a call. What a call does not have is null.
enum class FusedTensor : size_t {
    kQuery,
    kKey,
    kValue,
    kOut,
    kStatistics,  // float32 [batch, heads, queries]: logarithms of sums
    kGradOut,
    kGradQuery,
    kGradKey,
    kGradValue,
    kDropoutMask,  // [batch, heads, queries, keys] of the dtype: 1 where dropout keeps a probability, else 0
    kDropoutFactor,
    kDropoutInverse,
    kQueryCounts,  // int32 [batch]: rows of each sequence
    kKeyCounts,
    kQueryStarts,  // int32 [batch + 1]: its first element
    kKeyStarts,
    kCount,
};
using FusedMemory = std::array<void*, static_cast<size_t>(FusedTensor::kCount)>;

inline void*& at(FusedMemory& memory, FusedTensor name) { return memory[static_cast<size_t>(name)]; }

// The compute capability of the current device, and cuDNN's version (91300 is 9.13.0); 0 where it is not there.
struct FusedDevice {
    int major = 0;
    int64_t version = 0;
};
FusedDevice fused_device();

// False where cuDNN has no plan for it, or the plan did not run: the results are undefined then.
bool run_fused_attention(const FusedAttention& attention, const FusedMemory& memory);

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_FUSED_ATTENTION_H_
