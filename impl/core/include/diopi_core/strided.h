// Walking a strided operand in row-major order of a common shape.
#ifndef DIOPI_CORE_STRIDED_H_
#define DIOPI_CORE_STRIDED_H_

#include <cstdint>

#include "diopi_core/dtype.h"
#include "diopi_core/tensor.h"

namespace diopigen::core {

// The order in which dimensions are walked, outermost first: `dims[k]` is a dimension of the common shape, in which one
// position goes `strides[k]` elements on.
struct Order {
    int rank = 0;
    int64_t sizes[kMaxRank];
    int64_t strides[kMaxRank];
    int dims[kMaxRank];
};

// Row-major order of a shape, without dimensions of size 1.
Order logical_order(const int64_t* shape, int64_t rank);
// The same, sorted so that `strides` fall: the order of memory.
Order memory_order(const int64_t* shape, const int64_t* strides, int64_t rank);
// The order by tiles, where `operand` is contiguous in another dimension than the innermost: walked line by line,
// it would be fetched from memory once for each element. Gives the order itself where that is not so, or where no tile
// divides the dimensions. `rank` is that of the common shape.
Order tiled(const Order& order, const Tensor& operand, int64_t rank);

// An operand, walked in an order that is common to all; dimensions that are adjacent in its memory are merged.
struct Strided {
    int rank = 0;
    int64_t sizes[kMaxRank];
    int64_t strides[kMaxRank];
    char* data = nullptr;
    int64_t element = 0;

    // One element for all positions.
    bool is_uniform() const { return rank == 0 || (rank == 1 && strides[0] == 0); }
    // Element i is at data + i * element.
    bool is_dense() const { return rank == 0 || (rank == 1 && strides[0] == 1); }
    // The address of `count` elements from `start` where they are contiguous, else null.
    char* contiguous(int64_t start, int64_t count) const;
    // Copies `count` elements from position `start` to contiguous memory, and back.
    void gather(int64_t start, int64_t count, void* to) const;
    void scatter(int64_t start, int64_t count, const void* from) const;
};

// `tensor` broadcast to a common shape of `rank` dimensions and walked in `order`.
Strided strided(const Tensor& tensor, const Order& order, int64_t rank);

// Converts `count` elements, both sides contiguous.
void convert(Dtype from_dtype, const void* from, Dtype to_dtype, void* to, int64_t count);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_STRIDED_H_
