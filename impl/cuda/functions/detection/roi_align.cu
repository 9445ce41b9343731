// RoiAlign: a thread for each bin and channel. For the gradient a thread takes all bins of one channel of one image in
// order, so that nothing is added by two.
#include "detection/detection_kernels.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/to_device.h"

namespace diopigen::cuda {

namespace {

// Calls `add(element, weight)` for what a bin averages.
template <typename Add>
DIOPI_DEVICE void for_taps(const Grid& grid, const Region& region, int64_t row, int64_t column, Add&& add) {
    const int64_t count = region.vertical.samples * region.horizontal.samples;
    const double part = 1.0 / static_cast<double>(count > 1 ? count : 1);
    for (int64_t i = 0; i < region.vertical.samples; ++i) {
        const Between y = core::sample(region.vertical, row, i, grid.height);
        for (int64_t k = 0; y.is_inside && k < region.horizontal.samples; ++k) {
            const Between x = core::sample(region.horizontal, column, k, grid.width);
            if (x.is_inside) {
                add(y.low * grid.width + x.low, (1 - y.rest) * (1 - x.rest) * part);
                add(y.low * grid.width + x.high, (1 - y.rest) * x.rest * part);
                add(y.high * grid.width + x.low, y.rest * (1 - x.rest) * part);
                add(y.high * grid.width + x.high, y.rest * x.rest * part);
            }
        }
    }
}

template <typename T>
void average(T* results, const T* features, const Region* regions, int64_t count, int64_t channels, const Grid& grid) {
    for_each(count, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t bin = at % (grid.rows * grid.columns);
        const int64_t channel = at / (grid.rows * grid.columns) % channels;
        const Region& region = regions[at / (grid.rows * grid.columns) / channels];
        const T* from = features + (region.image * channels + channel) * grid.height * grid.width;
        double sum = 0;
        for_taps(grid, region, bin / grid.columns, bin % grid.columns,
                 [&](int64_t element, double weight) { sum += weight * static_cast<double>(from[element]); });
        results[at] = static_cast<T>(sum);
    });
}

template <typename T>
void spread(double* sums, const T* gradients, const Region* regions, int64_t count, int64_t images, int64_t channels,
            const Grid& grid) {
    for_each(images * channels, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t bins = grid.rows * grid.columns;
        double* to = sums + at * grid.height * grid.width;
        for (int64_t k = 0; k < count; ++k) {
            if (regions[k].image != at / channels) {
                continue;
            }
            for (int64_t bin = 0; bin < bins; ++bin) {
                const auto grad_out = static_cast<double>(gradients[(k * channels + at % channels) * bins + bin]);
                for_taps(grid, regions[k], bin / grid.columns, bin % grid.columns,
                         [&](int64_t element, double weight) { to[element] += weight * grad_out; });
            }
        }
    });
}

template <typename T>
void round(T* results, const double* sums, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) { results[i] = static_cast<T>(sums[i]); });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

std::vector<double> numbers_of(const Tensor& tensor) {
    const Input<double> values(tensor);
    std::vector<double> numbers(static_cast<size_t>(tensor.numel));
    if (tensor.numel > 0) {
        cuda::read_back(numbers.data(), values.data(), numbers.size() * sizeof(double));
    }
    return numbers;
}

void average_regions(const Tensor& out, const Tensor& input, const Grid& grid, const std::vector<Region>& found) {
    const Buffer regions = cuda::to_device(found);
    dispatch_compute<kFloating>(input.dtype, [&](auto type) {
        using T = decltype(type);
        const Input<T> features(input);
        const Output<T> results(out);
        cuda::average<T>(results.data(), features.data(), static_cast<const Region*>(regions.data()), out.numel,
                         input.shape[1], grid);
        results.store();
    });
}

void spread_regions(const Tensor& out, const Tensor& grad, const Grid& grid, const std::vector<Region>& found) {
    const Buffer regions = cuda::to_device(found);
    Buffer memory;
    memory.allocate(out.numel * static_cast<int64_t>(sizeof(double)));
    cuda::clear(memory.data(), static_cast<size_t>(out.numel) * sizeof(double));
    auto* const sums = static_cast<double*>(memory.data());
    dispatch_compute<kFloating>(grad.dtype, [&](auto type) {
        using T = decltype(type);
        const Input<T> gradients(grad);
        const Output<T> results(out);
        cuda::spread<T>(sums, gradients.data(), static_cast<const Region*>(regions.data()),
                        static_cast<int64_t>(found.size()), out.shape[0], out.shape[1], grid);
        cuda::round<T>(results.data(), sums, out.numel);
        results.store();
    });
}

}  // namespace diopigen::core
