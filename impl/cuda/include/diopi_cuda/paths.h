// Where several operands lie that are walked together, and the vectors of one.
#ifndef DIOPI_CUDA_PATHS_H_
#define DIOPI_CUDA_PATHS_H_

#include "diopi_cuda/operand.h"

namespace diopigen::cuda::detail {

// Where `n` operands lie, that are walked together in the leading dimensions of a call.
template <int n>
struct Paths {
    int rank;
    int64_t sizes[kMaxDims];
    Divider dividers[kMaxDims];
    char* data[n];  // null for a number, or for an output that is dropped
    int64_t strides[n][kMaxDims];

    Paths(const Dims& dims, const Operand* operands, int leading) : rank(leading) {
        for (int d = 0; d < rank; ++d) {
            sizes[d] = dims.sizes[d];
            dividers[d] = dims.dividers[d];
        }
        for (int k = 0; k < n; ++k) {
            data[k] = operands[k].data;
            for (int d = 0; d < rank; ++d) {
                strides[k][d] = operands[k].strides[d];
            }
        }
    }

    // Where the operands are at a position: one division for all of them.
    DIOPI_DEVICE void find(uint32_t position, char* (&at)[n]) const {
        start(at);
        DIOPI_NO_UNROLL
        for (int d = rank - 1; d >= 0; --d) {
            const uint32_t outer = dividers[d].split(position);
            move(position, d, at);
            position = outer;
        }
    }
    DIOPI_DEVICE void find_far(int64_t position, char* (&at)[n]) const {
        start(at);
        DIOPI_NO_UNROLL
        for (int d = rank - 1; d >= 0; --d) {
            move(position % sizes[d], d, at);
            position /= sizes[d];
        }
    }

  private:
    DIOPI_DEVICE void start(char* (&at)[n]) const {
        DIOPI_UNROLL
        for (int k = 0; k < n; ++k) {
            at[k] = data[k];
        }
    }
    DIOPI_DEVICE void move(int64_t coordinate, int d, char* (&at)[n]) const {
        DIOPI_UNROLL
        for (int k = 0; k < n; ++k) {
            at[k] += coordinate * strides[k][d];
        }
    }
};

// Whether vectors of `bytes` bytes along the innermost dimension of an operand are one access each: its elements are
// contiguous, and every stretch of them begins at a multiple.
inline bool has_vectors(const Dims& dims, const Operand& operand, int64_t bytes) {
    const int inner = dims.rank - 1;
    auto addresses = reinterpret_cast<uint64_t>(operand.data);
    for (int d = 0; d < inner; ++d) {
        addresses |= static_cast<uint64_t>(operand.strides[d]);
    }
    const bool is_dense = dims.rank > 0 && operand.strides[inner] == operand.element;
    return operand.data != nullptr && is_dense && addresses % static_cast<uint64_t>(bytes) == 0;
}

// The vector at an address, which is one access.
template <typename P>
DIOPI_DEVICE inline P& vector_at(char* address) {
#if defined(DIOPI_CUDA_EMULATION)
    require(reinterpret_cast<uintptr_t>(address) % sizeof(P) == 0, "a vector is not aligned");
#endif
    return *reinterpret_cast<P*>(address);
}

}  // namespace diopigen::cuda::detail

#endif  // DIOPI_CUDA_PATHS_H_
