// Rows of results in blocks of elements, for `Each::rows`: what elements of a block share is computed once, and their
// sums are in registers.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_ROW_BLOCKS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_ROW_BLOCKS_H_

#include <cstdint>

#include "diopi_core/host_device.h"

namespace diopigen::core {

constexpr int64_t kRowBlock = 16;

// Elements that a loop over a part of a block writes: one or two vectors.
template <int64_t kCount>
constexpr int64_t kRowPart = kCount < 8 ? kCount : 8;

DIOPI_HOST_DEVICE inline int64_t row_blocks(int64_t length) { return (length + kRowBlock - 1) / kRowBlock; }

// A row of `length` results: owner.write<kCount>(row, begin) writes kCount elements from `begin`.
template <typename Owner>
struct RowOfBlocks {
    const Owner& owner;
    int64_t row;
    int64_t length;

    DIOPI_HOST_DEVICE void operator()(int64_t block) const {
        const int64_t begin = block * kRowBlock;
        if (begin + kRowBlock <= length) {
            owner.template write<kRowBlock>(row, begin);
            return;
        }
        for (int64_t i = begin; i < length; ++i) {
            owner.template write<1>(row, i);
        }
    }
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_ROW_BLOCKS_H_
