// Lists of index tensors and masks, as NumPy and PyTorch read them.
#ifndef DIOPI_CORE_FUNCTIONS_INDEXING_ADVANCED_H_
#define DIOPI_CORE_FUNCTIONS_INDEXING_ADVANCED_H_

#include <vector>

#include "diopi_core/raw_elements.h"

namespace diopigen::core {

// What a list of indices picks from a tensor. With the dimensions in `order` the tensor is [outer, size, inner], and
// the result is [outer, positions, inner]: the indexed dimensions are where they were, or first where a full slice
// is between two of them.
struct Advanced {
    std::vector<int64_t> order;
    std::vector<int64_t> shape;  // of the result
    Buffer memory;               // the positions, each in [0, size)
    int64_t count = 0;
    DimSplit split;
    std::vector<Tensor> tensors;  // the indices that are not null

    const int64_t* positions() const { return static_cast<const int64_t*>(memory.data()); }
    // `written` has no common memory with the indices.
    void require_apart(const Tensor& written) const;
};

// The indices use no more dimensions than the input has; null ones are full slices.
Advanced advanced(const Tensor& input, const std::vector<Tensor>& indices);

// ---- What is done to positions and elements. Each library has its own. ----

// Room for positions, all 0.
Buffer zero_positions(int64_t count);
// The positions that a tensor holds, checked, and counted from the start.
Buffer positions_in(const Tensor& index, int64_t size);
// Adds `scale` times the values, which have a shape that broadcasts to `common`, to positions of that shape.
void add_positions(const Buffer& positions, const std::vector<int64_t>& common, const Buffer& values,
                   const std::vector<int64_t>& shape, int64_t scale);

// `input` with its dimensions in the order of the index.
void pick_at(const Tensor& out, const Tensor& input, const Advanced& index);
// Replaces the picked elements of `target`, whose dimensions are in the order of the index, or adds to them. Where
// positions repeat, the last value stays.
void put_at(const Tensor& target, const Tensor& values, const Advanced& index, bool accumulate);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_INDEXING_ADVANCED_H_
