// GridSample: interpolation at positions that a tensor holds, zeros outside.
#include <diopi/functions.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "cubic.h"
#include "diopi_cpu/dense.h"
#include "diopi_cpu/threads.h"
#include "windows.h"

using namespace diopi::cpu;

namespace {

enum class Mode { kLinear, kNearest, kCubic };

Mode mode_of(const char* mode) {
    require_text("mode", mode, {"bilinear", "nearest", "bicubic"});
    return std::strcmp(mode, "nearest") == 0   ? Mode::kNearest
           : std::strcmp(mode, "bicubic") == 0 ? Mode::kCubic
                                               : Mode::kLinear;
}

// The elements along one dimension that a position is interpolated between: `count` from `first` on.
struct Taps {
    int64_t first = 0;
    int count = 1;
    std::array<double, 4> weight{1};
};

// `coordinate` is a position where -1 and 1 are the outer edges of `size` elements. It is worked out in T, as PyTorch
// does, which decides which element is the nearest.
template <typename T>
Taps taps_at(T coordinate, int64_t size, Mode mode) {
    const T position = ((coordinate + 1) * static_cast<T>(size) - 1) / 2;
    const T whole = mode == Mode::kNearest ? std::nearbyint(position) : std::floor(position);
    const auto rest = static_cast<double>(position - whole);
    Taps taps;
    // What is far outside, or no number, must not be cast to an integer.
    const bool is_near = whole >= T(-4) && whole <= static_cast<T>(size) + 4;
    taps.first = is_near ? static_cast<int64_t>(whole) : -8;
    if (mode == Mode::kLinear) {
        taps.count = 2;
        taps.weight = {1 - rest, rest};
    } else if (mode == Mode::kCubic) {
        taps.first -= 1;
        taps.count = 4;
        taps.weight = cubic_weights(rest);
    }
    return taps;
}

struct Plane {
    Triple size;
    Mode mode;
    bool is_volume;
};

// An element of a channel's plane and its weight.
struct Neighbour {
    int64_t at;
    double weight;
};

// The neighbours of a position (x, y) or (x, y, z) that lie inside. As PyTorch has it, an image's neighbours outside
// count as zeros with their weight, so that a position that is not finite gives NaN; a volume's do not count.
template <typename T>
void find_neighbours(const Plane& plane, const T* position, std::vector<Neighbour>& found) {
    found.clear();
    const Taps width = taps_at(position[0], plane.size[2], plane.mode);
    const Taps height = taps_at(position[1], plane.size[1], plane.mode);
    const Taps depth = plane.is_volume ? taps_at(position[2], plane.size[0], plane.mode) : Taps();
    const auto is_inside = [&](int k, int64_t at) { return at >= 0 && at < plane.size[k]; };
    for (int64_t z = depth.first; z < depth.first + depth.count; ++z) {
        for (int64_t y = height.first; y < height.first + height.count; ++y) {
            for (int64_t x = width.first; x < width.first + width.count; ++x) {
                const double weight =
                    depth.weight[z - depth.first] * height.weight[y - height.first] * width.weight[x - width.first];
                if (is_inside(0, z) && is_inside(1, y) && is_inside(2, x)) {
                    found.push_back({(z * plane.size[1] + y) * plane.size[2] + x, weight});
                } else if (!plane.is_volume && !std::isfinite(weight)) {
                    found.push_back({0, std::nan("")});
                }
            }
        }
    }
}

}  // namespace

DIOPI_API diopiError_t diopiGridSample(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                       diopiConstTensorHandle_t input, diopiConstTensorHandle_t grid,
                                       const char* mode) {
    return guarded("diopiGridSample", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor grid_tensor = tensor("grid", grid, kFloating);
        const int64_t rank = input_tensor.rank;
        require((rank == 4 || rank == 5) && grid_tensor.rank == rank,
                "C1: parameters 'input' and 'grid' must both have 4 or both have 5 dimensions");
        const Plane plane{space_of(input_tensor, static_cast<int>(rank) - 2), mode_of(mode), rank == 5};
        require(plane.mode != Mode::kCubic || rank == 4,
                "C2: parameter 'input' must have 4 dimensions when mode is bicubic");
        require(volume(plane.size) > 0, "C3: parameter 'input' must have elements in all dimensions after C");
        const int64_t batch = input_tensor.shape[0];
        const int64_t channels = input_tensor.shape[1];
        std::vector<int64_t> grid_shape = shape_of(grid_tensor);
        grid_shape.front() = batch;
        grid_shape.back() = rank - 2;
        require_same_dtype(grid_tensor, input_tensor);
        require_shape(grid_tensor, grid_shape);
        std::vector<int64_t> shape{batch, channels};
        shape.insert(shape.end(), grid_shape.begin() + 1, grid_shape.end() - 1);
        require_same_dtype(out_tensor, input_tensor);
        require_shape(out_tensor, shape);
        require_operands(out_tensor, {&input_tensor, &grid_tensor});
        if (out_tensor.numel == 0) {
            return;
        }
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> values(input_tensor);
            const Input<T> positions(grid_tensor);
            const Output<T> results(out_tensor);
            const int64_t points = grid_tensor.numel / (batch * (rank - 2));
            parallel_for(batch * points, 1 + 2048 / (channels + 8), [&](int64_t begin, int64_t end) {
                std::vector<Neighbour> neighbours;
                for (int64_t i = begin; i < end; ++i) {
                    find_neighbours(plane, positions.data() + i * (rank - 2), neighbours);
                    for (int64_t channel = 0; channel < channels; ++channel) {
                        const int64_t at = i / points * channels + channel;
                        const T* from = values.data() + at * volume(plane.size);
                        double sum = 0;
                        for (const Neighbour& neighbour : neighbours) {
                            sum += neighbour.weight * from[neighbour.at];
                        }
                        results[at * points + i % points] = static_cast<T>(sum);
                    }
                }
            });
            results.store();
        });
    });
}
