#include "skip_padding.h"

#include <cmath>

#include "diopi_core/threads.h"

namespace diopigen::cpu {

namespace {

// Where in its plane the image's element lies that an element of the window meets at a position; -1 in the padding.
int64_t source(const Sliding& sliding, int64_t position, int64_t element) {
    const auto& [kernel, stride, pad, spread] = sliding.window;
    int64_t found = 0;
    int64_t element_stride = 1;
    for (int k = kSpace; k-- > 0;) {
        const int64_t at = position % sliding.positions[k] * stride[k] - pad[k] + element % kernel[k] * spread[k];
        if (at < 0 || at >= sliding.size[k]) {
            return -1;
        }
        found += at * element_stride;
        element_stride *= sliding.size[k];
        position /= sliding.positions[k];
        element /= kernel[k];
    }
    return found;
}

// Replaces those of `count` values that are not finite by `sum(i)`.
template <typename T, typename Sum>
void replace(T* values, int64_t count, Sum&& sum) {
    constexpr int64_t kGrain = 1 << 12;
    parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            if (!std::isfinite(values[i])) {
                values[i] = static_cast<T>(sum(i));
            }
        }
    });
}

}  // namespace

template <typename T>
void respond_without_padding(const Convolution& convolution, const T* images, const T* weights, T* responses) {
    const Sliding& sliding = convolution.sliding;
    const int64_t positions = volume(sliding.positions);
    const int64_t window = volume(sliding.window.kernel);
    const int64_t size = volume(sliding.size);
    replace(responses, convolution.batch * convolution.filters * positions, [&](int64_t i) {
        const int64_t filter = i / positions % convolution.filters;
        const int64_t group = filter / convolution.group_filters();
        const T* weight = weights + filter * convolution.elements();
        const int64_t first = i / positions / convolution.filters * convolution.channels + group * convolution.depth();
        double sum = 0;
        // Once NaN, always NaN.
        for (int64_t k = 0; k < convolution.elements() && !std::isnan(sum); ++k) {
            const int64_t at = source(sliding, i % positions, k % window);
            if (at >= 0) {
                sum += static_cast<double>(images[(first + k / window) * size + at]) * static_cast<double>(weight[k]);
            }
        }
        return sum;
    });
}

template <typename T>
void correlate_without_padding(const Convolution& convolution, const T* images, const T* responses, T* weights) {
    const Sliding& sliding = convolution.sliding;
    const int64_t positions = volume(sliding.positions);
    const int64_t window = volume(sliding.window.kernel);
    const int64_t size = volume(sliding.size);
    const int64_t elements = convolution.elements();
    replace(weights, convolution.filters * elements, [&](int64_t i) {
        const int64_t filter = i / elements;
        const int64_t channel = filter / convolution.group_filters() * convolution.depth() + i % elements / window;
        double sum = 0;
        for (int64_t k = 0; k < convolution.batch * positions && !std::isnan(sum); ++k) {
            const int64_t batch = k / positions;
            const int64_t at = source(sliding, k % positions, i % window);
            if (at >= 0) {
                const T response = responses[(batch * convolution.filters + filter) * positions + k % positions];
                sum += static_cast<double>(images[(batch * convolution.channels + channel) * size + at]) *
                       static_cast<double>(response);
            }
        }
        return sum;
    });
}

template void respond_without_padding(const Convolution&, const float*, const float*, float*);
template void respond_without_padding(const Convolution&, const double*, const double*, double*);
template void correlate_without_padding(const Convolution&, const float*, const float*, float*);
template void correlate_without_padding(const Convolution&, const double*, const double*, double*);

}  // namespace diopigen::cpu
