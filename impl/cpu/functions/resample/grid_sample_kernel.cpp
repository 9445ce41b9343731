#include <vector>

#include "diopi_core/threads.h"
#include "resample/grid_sample.h"

namespace diopigen::core {

namespace {

// An element of a channel's plane and its weight.
struct Neighbour {
    int64_t at;
    double weight;
};

// The neighbours of a position (x, y) or (x, y, z) that are inside. As PyTorch has it, an image's neighbours outside
// count as zeros with their weight, so that a position that is not finite gives NaN; a volume's do not count.
template <typename T>
void find_neighbours(const Plane& plane, const T* position, std::vector<Neighbour>& found) {
    found.clear();
    const GridTaps width = taps_at(position[0], plane.size[2], plane.mode);
    const GridTaps height = taps_at(position[1], plane.size[1], plane.mode);
    const GridTaps depth = plane.is_volume ? taps_at(position[2], plane.size[0], plane.mode) : GridTaps();
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

void sample_at(const Tensor& out, const Tensor& input, const Tensor& grid, const Plane& plane) {
    const int64_t rank = input.rank;
    const int64_t batch = input.shape[0];
    const int64_t channels = input.shape[1];
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> values(input);
        const Input<T> positions(grid);
        const Output<T> results(out);
        const int64_t points = grid.numel / (batch * (rank - 2));
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
}

}  // namespace diopigen::core
