// Elements of a tensor that index tensors name, one for each dimension
// that is indexed, as in the operator Index.
#ifndef DIOPIGEN_KERNELS_INDEXING_H_
#define DIOPIGEN_KERNELS_INDEXING_H_

#include <diopigen_kernels/shape.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace diopigen::kernels {

struct Indexing {
    using Dimensions = SmallVector<std::size_t, 8>;

    Shape shape;      ///< of the tensor that is indexed
    Dimensions dims;  ///< its indexed dimensions in ascending order, at least one
    Shape positions;  ///< the shape that the index tensors broadcast to

    /// The shape of what is named: that of the index tensors in the place of the indexed dimensions, or in front where
    /// a full slice is between two of them.
    Shape result() const;

    /// How many adjacent elements each offset names.
    int64_t block() const;

    /// Offsets in the tensor, in row-major order, of the blocks of the result in its order. `indices` has the elements
    /// of an index tensor for each of `dims`, broadcast to `positions`; negative ones count from the end. Throws
    /// std::out_of_range where one is outside its dimension.
    std::vector<int64_t> offsets(const std::vector<const int64_t*>& indices) const;

  private:
    bool isAdjacent() const { return dims.back() - dims.front() + 1 == dims.size(); }
    /// The dimensions that are not indexed and in front of the last one that is.
    Dimensions slices() const;
};

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_INDEXING_H_
