// Windows that slide over the last two dimensions: arguments as (height, width).
#ifndef DIOPI_CPU_WINDOWS_H_
#define DIOPI_CPU_WINDOWS_H_

#include <array>
#include <cstdint>

#include "diopi_cpu/tensor.h"

namespace diopi::cpu {

using Pair = std::array<int64_t, 2>;

// A list of two entries, all at least `least`; `message` is the constraint that it breaks otherwise.
inline Pair pair(const char* name, diopiSize_t sizes, int64_t least, const char* message) {
    require_sizes(name, sizes);
    require(sizes.len == 2 && sizes.data[0] >= least && sizes.data[1] >= least, message);
    return {sizes.data[0], sizes.data[1]};
}

// How many windows of `extent` elements fit along a dimension; with `ceil_mode` also a last one that sticks out, if it
// begins inside the input or the padding before it.
inline int64_t window_count(int64_t size, int64_t extent, int64_t stride, int64_t padding, bool ceil_mode) {
    const int64_t room = size + 2 * padding - extent;
    if (room < 0 && !(ceil_mode && room + stride - 1 >= 0)) {
        return 0;
    }
    int64_t count = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (ceil_mode && (count - 1) * stride >= size + padding) {
        --count;
    }
    return count;
}

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_WINDOWS_H_
