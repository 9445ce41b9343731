// Rows that are done again one by one: products multiply hidden pairs by 0, which makes NaN of their infinities and
// NaN.
#ifndef DIOPI_CUDA_ATTENTION_FLAGGED_ROWS_H_
#define DIOPI_CUDA_ATTENTION_FLAGGED_ROWS_H_

#include <cstdint>

#include "diopi_cuda/launch.h"
#include "forward.h"

namespace diopigen::cuda {

// Calls `body(group, row)` for all rows that have a flag, with groups of kTile threads and so many bytes of shared
// memory.
template <typename Body>
void for_flagged(int64_t count, const uint8_t* flags, int64_t bytes, const Body& body) {
    constexpr int64_t kRows = 64;
    for_groups((count + kRows - 1) / kRows, kTile, bytes, [=] DIOPI_KERNEL(Group & group, int64_t part) {
        for (int64_t row = part * kRows; row < count && row < (part + 1) * kRows; ++row) {
            if (flags[row] != 0) {
                body(group, row);
            }
        }
    });
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ATTENTION_FLAGGED_ROWS_H_
