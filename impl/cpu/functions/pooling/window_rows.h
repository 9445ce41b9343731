// Sliding windows row by row: what one element of all windows of a row sees is in one row of the plane, `stride`
// elements apart, so that the loops run over windows and not within each.
#ifndef DIOPI_CPU_WINDOW_ROWS_H_
#define DIOPI_CPU_WINDOW_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "diopi_core/clones.h"
#include "diopi_core/math.h"
#include "pooling/pooling_kernels.h"

namespace diopigen::cpu {

using namespace core;

// Calls `visit(source, first, count)` for every element of the windows of row `row` (of windows[0] * windows[1]), in
// the order of a window: windows [first, first + count) of the row have the plane's elements source, source + step,
// ...; the others have padding there.
template <typename Visit>
void for_each_element_of_row(const Pooling& pooling, int64_t row, Visit&& visit) {
    const auto& [kernel, stride, pad, spread] = pooling.window;
    const auto& size = pooling.size;
    const int64_t first_depth = row / pooling.windows[1] * stride[0] - pad[0];
    const int64_t top = row % pooling.windows[1] * stride[1] - pad[1];
    for (int64_t z = 0; z < kernel[0]; ++z) {
        for (int64_t y = 0; y < kernel[1]; ++y) {
            const int64_t depth = first_depth + z * spread[0];
            const int64_t height = top + y * spread[1];
            if (depth < 0 || depth >= size[0] || height < 0 || height >= size[1]) {
                continue;
            }
            for (int64_t x = 0; x < kernel[2]; ++x) {
                const int64_t shift = x * spread[2] - pad[2];
                const int64_t first = shift >= 0 ? 0 : (-shift + stride[2] - 1) / stride[2];
                const int64_t room = size[2] - shift;
                const int64_t last = std::min(pooling.windows[2], room <= 0 ? 0 : (room - 1) / stride[2] + 1);
                if (first < last) {
                    visit((depth * size[1] + height) * size[2] + shift + first * stride[2], first, last - first);
                }
            }
        }
    }
}

// Where `from[i * stride]` is larger than best[i], is NaN or is the first that window i has, takes it with its index.
template <typename T>
DIOPI_CPU_CLONES void take_larger(const T* from, int64_t stride, int64_t count, int64_t position, T* best,
                                  int64_t* positions) {
    const auto take = [&](int64_t i, int64_t at) {
        const T value = from[at];
        // Bits rather than branches, so that the loop becomes vectors.
        const int reasons = int{positions[i] < 0} | int{value > best[i]} | int{isnan(value)};
        const bool is_taken = reasons != 0;
        best[i] = where(is_taken, value, best[i]);
        positions[i] = is_taken ? position + at : positions[i];
    };
    // With a step that the compiler knows, loads become vectors.
    if (stride == 1) {
        for (int64_t i = 0; i < count; ++i) {
            take(i, i);
        }
    } else if (stride == 2) {
        for (int64_t i = 0; i < count; ++i) {
            take(i, 2 * i);
        }
    } else {
        for (int64_t i = 0; i < count; ++i) {
            take(i, i * stride);
        }
    }
}

// sums[i] += from[i * stride]
template <typename T>
DIOPI_CPU_CLONES void add_strided(const T* from, int64_t stride, int64_t count, double* sums) {
    if (stride == 1) {
        for (int64_t i = 0; i < count; ++i) {
            sums[i] += static_cast<double>(from[i]);
        }
    } else if (stride == 2) {
        for (int64_t i = 0; i < count; ++i) {
            sums[i] += static_cast<double>(from[2 * i]);
        }
    } else {
        for (int64_t i = 0; i < count; ++i) {
            sums[i] += static_cast<double>(from[i * stride]);
        }
    }
}

// The sum of contiguous elements, in an order that follows from their number alone.
template <typename T>
DIOPI_CPU_CLONES double sum_run(const T* from, int64_t count) {
    constexpr int kLanes = 16;
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += static_cast<double>(from[i + lane]);
        }
    }
    for (int lane = 0; i < count; ++i, ++lane) {
        lanes[lane] += static_cast<double>(from[i]);
    }
    double sum = 0;
    for (const double lane : lanes) {
        sum += lane;
    }
    return sum;
}

// Whether all of `positions` are from -1 to before `size`.
inline bool are_positions(const Int64* positions, int64_t count, int64_t size) {
    uint64_t largest = 0;
    for (int64_t i = 0; i < count; ++i) {
        largest = std::max(largest, static_cast<uint64_t>(positions[i].value) + 1);
    }
    return largest <= static_cast<uint64_t>(size);
}

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_WINDOW_ROWS_H_
