// GridSample: a thread for each element of the result.
#include "diopi_core/math.h"
#include "diopi_cuda/launch.h"
#include "resample/grid_sample.h"

namespace diopigen::cuda {

namespace {

struct Extent {
    int64_t depth;
    int64_t height;
    int64_t width;
    bool is_volume;
    SampleMode mode;
};

template <typename T>
void sample(T* results, const T* values, const T* grid, int64_t count, int64_t channels, int64_t points,
            const Extent& plane) {
    for_each(count, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t batch = at / points / channels;
        const T* position = grid + (batch * points + at % points) * (plane.is_volume ? 3 : 2);
        const T* from = values + at / points * plane.depth * plane.height * plane.width;
        const GridTaps across = taps_at(position[0], plane.width, plane.mode);
        const GridTaps down = taps_at(position[1], plane.height, plane.mode);
        const GridTaps deep = plane.is_volume ? taps_at(position[2], plane.depth, plane.mode) : GridTaps();
        double sum = 0;
        for (int z = 0; z < deep.count; ++z) {
            for (int y = 0; y < down.count; ++y) {
                for (int x = 0; x < across.count; ++x) {
                    const double weight = deep.weight[static_cast<size_t>(z)] * down.weight[static_cast<size_t>(y)] *
                                          across.weight[static_cast<size_t>(x)];
                    const int64_t depth = deep.first + z;
                    const int64_t row = down.first + y;
                    const int64_t column = across.first + x;
                    const bool is_inside = depth >= 0 && depth < plane.depth && row >= 0 && row < plane.height &&
                                           column >= 0 && column < plane.width;
                    if (is_inside) {
                        sum += weight * static_cast<double>(from[(depth * plane.height + row) * plane.width + column]);
                    } else if (!plane.is_volume && !isfinite(weight)) {
                        sum += static_cast<double>(NAN);
                    }
                }
            }
        }
        results[at] = static_cast<T>(sum);
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void sample_at(const Tensor& out, const Tensor& input, const Tensor& grid, const Plane& plane) {
    const int64_t batch = input.shape[0];
    const int64_t points = grid.numel / (batch * (input.rank - 2));
    const cuda::Extent extent{plane.size[0], plane.size[1], plane.size[2], plane.is_volume, plane.mode};
    dispatch_compute<kFloating>(input.dtype, [&](auto type) {
        using T = decltype(type);
        const Input<T> values(input);
        const Input<T> positions(grid);
        const Output<T> results(out);
        cuda::sample<T>(results.data(), values.data(), positions.data(), out.numel, input.shape[1], points, extent);
        results.store();
    });
}

}  // namespace diopigen::core
