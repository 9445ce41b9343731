// Interpolation at positions that a tensor holds.
#ifndef DIOPI_CORE_FUNCTIONS_RESAMPLE_GRID_SAMPLE_H_
#define DIOPI_CORE_FUNCTIONS_RESAMPLE_GRID_SAMPLE_H_

#include <array>
#include <cmath>

#include "diopi_core/dense.h"
#include "diopi_core/host_device.h"
#include "diopi_core/windows.h"

namespace diopigen::core {

enum class SampleMode { kLinear, kNearest };

// The elements along one dimension that a position is interpolated between: `count` from `first` on.
struct GridTaps {
    int64_t first = 0;
    int count = 1;
    std::array<double, 2> weight{{1, 0}};
};

// `coordinate` is a position where -1 and 1 are the outer edges of `size` elements. It is computed in T, as PyTorch
// does, which decides which element is the nearest.
template <typename T>
DIOPI_HOST_DEVICE GridTaps taps_at(T coordinate, int64_t size, SampleMode mode) {
    const T position = ((coordinate + 1) * static_cast<T>(size) - 1) / 2;
    const T rounded = mode == SampleMode::kNearest ? numeric::nearbyint(position) : numeric::floor(position);
    const auto rest = static_cast<double>(position - rounded);
    GridTaps taps;
    // What is far outside, or no number, must not be cast to an integer.
    const bool is_near = rounded >= T(-4) && rounded <= static_cast<T>(size) + 4;
    taps.first = is_near ? static_cast<int64_t>(rounded) : -8;
    if (mode == SampleMode::kLinear) {
        taps.count = 2;
        taps.weight[0] = 1 - rest;
        taps.weight[1] = rest;
    }
    return taps;
}

struct Plane {
    Triple size;
    SampleMode mode;
    bool is_volume;
};

// input is [batch, channels, (depth,) height, width], the grid [batch, positions..., 2 or 3]. Neighbours outside count
// as zeros: in images with their weight, so that a position that is not finite gives NaN, as in PyTorch. Nothing is
// empty. Each library has its own.
void sample_at(const Tensor& out, const Tensor& input, const Tensor& grid, const Plane& plane);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_RESAMPLE_GRID_SAMPLE_H_
