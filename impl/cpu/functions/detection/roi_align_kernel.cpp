#include <algorithm>
#include <vector>

#include "detection/detection_kernels.h"
#include "diopi_core/threads.h"

namespace diopigen::core {

namespace {

struct Tap {
    int64_t at;
    double weight;
};

// What a bin averages: elements of the map with their weights.
void find_taps(const Grid& grid, const Region& region, int64_t row, int64_t column, std::vector<Tap>& found) {
    found.clear();
    const int64_t count = std::max<int64_t>(region.vertical.samples * region.horizontal.samples, 1);
    const double part = 1.0 / static_cast<double>(count);
    for (int64_t i = 0; i < region.vertical.samples; ++i) {
        const Between y = sample(region.vertical, row, i, grid.height);
        for (int64_t k = 0; y.is_inside && k < region.horizontal.samples; ++k) {
            const Between x = sample(region.horizontal, column, k, grid.width);
            if (x.is_inside) {
                found.push_back({y.low * grid.width + x.low, (1 - y.rest) * (1 - x.rest) * part});
                found.push_back({y.low * grid.width + x.high, (1 - y.rest) * x.rest * part});
                found.push_back({y.high * grid.width + x.low, y.rest * (1 - x.rest) * part});
                found.push_back({y.high * grid.width + x.high, y.rest * x.rest * part});
            }
        }
    }
}

}  // namespace

std::vector<double> numbers_of(const Tensor& tensor) {
    const Input<double> values(tensor);
    return std::vector<double>(values.data(), values.data() + tensor.numel);
}

void average_regions(const Tensor& out, const Tensor& input, const Grid& grid, const std::vector<Region>& found) {
    const int64_t channels = input.shape[1];
    dispatch_compute<kFloating>(input.dtype, [&](auto type) {
        using T = decltype(type);
        const Input<T> features(input);
        const Output<T> results(out);
        const int64_t bins = grid.rows * grid.columns;
        const int64_t plane = grid.height * grid.width;
        parallel_for(static_cast<int64_t>(found.size()) * bins, 1 + 1024 / (channels + 8),
                     [&](int64_t begin, int64_t end) {
                         std::vector<Tap> taps;
                         for (int64_t i = begin; i < end; ++i) {
                             const Region& region = found[i / bins];
                             find_taps(grid, region, i % bins / grid.columns, i % grid.columns, taps);
                             for (int64_t channel = 0; channel < channels; ++channel) {
                                 const T* from = features.data() + (region.image * channels + channel) * plane;
                                 double sum = 0;
                                 for (const Tap& tap : taps) {
                                     sum += tap.weight * from[tap.at];
                                 }
                                 results[(i / bins * channels + channel) * bins + i % bins] = static_cast<T>(sum);
                             }
                         }
                     });
        results.store();
    });
}

void spread_regions(const Tensor& out, const Tensor& grad, const Grid& grid, const std::vector<Region>& found) {
    const int64_t batch_size = out.shape[0];
    const int64_t channels = out.shape[1];
    dispatch_compute<kFloating>(grad.dtype, [&](auto type) {
        using T = decltype(type);
        const Input<T> gradient(grad);
        const Output<T> results(out);
        const int64_t bins = grid.rows * grid.columns;
        const int64_t plane = grid.height * grid.width;
        // A channel belongs to one part, so that sums do not depend on the number of threads.
        parallel_for(channels, 1, [&](int64_t begin, int64_t end) {
            std::vector<double> sums(static_cast<size_t>(batch_size * (end - begin) * plane), 0.0);
            std::vector<Tap> taps;
            for (int64_t i = 0; i < static_cast<int64_t>(found.size()) * bins; ++i) {
                const Region& region = found[i / bins];
                find_taps(grid, region, i % bins / grid.columns, i % grid.columns, taps);
                for (int64_t channel = begin; channel < end; ++channel) {
                    const double grad_out = gradient[(i / bins * channels + channel) * bins + i % bins];
                    double* to = sums.data() + (region.image * (end - begin) + channel - begin) * plane;
                    for (const Tap& tap : taps) {
                        to[tap.at] += tap.weight * grad_out;
                    }
                }
            }
            for (int64_t i = 0; i < batch_size * (end - begin); ++i) {
                const int64_t channel = begin + i % (end - begin);
                T* to = results.data() + (i / (end - begin) * channels + channel) * plane;
                std::transform(sums.data() + i * plane, sums.data() + (i + 1) * plane, to,
                               [](double sum) { return static_cast<T>(sum); });
            }
        });
        results.store();
    });
}

}  // namespace diopigen::core
