// Groups of channels of a sample, normalised over the group: GroupNorm, and InstanceNorm with a channel to a group.
#ifndef DIOPI_CORE_GROUP_NORM_H_
#define DIOPI_CORE_GROUP_NORM_H_

#include "statistics.h"

namespace diopigen::core {

struct Groups {
    Groups(const Channels& layout, int64_t groups_per_sample)
        : channels(layout),
          per_sample(groups_per_sample),
          width(layout.count / groups_per_sample),
          length(width * layout.spatial) {}

    int64_t count() const { return channels.samples * per_sample; }
    // Calls `visit(channel, i)` with the first element i of each channel in a group.
    template <typename Visit>
    void for_each_channel(int64_t group, Visit&& visit) const {
        for (int64_t k = 0; k < width; ++k) {
            visit(group % per_sample * width + k, k * channels.spatial);
        }
    }

    Channels channels;
    int64_t per_sample;
    int64_t width;  // channels in a group
    int64_t length;
};

// Normalises every group; `keep(group, moments)` takes the statistics.
template <typename T, typename Keep>
void normalise_groups(const Groups& groups, const Input<T>& x, const Input<T>& scale, const Input<T>& shift,
                      const Output<T>& y, double eps, Keep&& keep) {
    parallel_for(groups.count(), row_grain(groups.length), [&](int64_t begin, int64_t end) {
        for (int64_t group = begin; group < end; ++group) {
            const T* from = x.data() + group * groups.length;
            T* to = y.data() + group * groups.length;
            const Moments moments = moments_of(from, groups.length, eps);
            groups.for_each_channel(group, [&](int64_t c, int64_t i) {
                const double factor = moments.invstd * static_cast<double>(scale ? scale[c] : T(1));
                const auto offset = static_cast<double>(shift ? shift[c] : T(0));
                spans::scale(from + i, to + i, groups.channels.spatial, moments.mean, factor, offset);
            });
            keep(group, moments);
        }
    });
}

// Gradients with respect to elements, scale and shift; `moments(group)` are the statistics.
template <typename T, typename Statistics>
void group_gradients(const Groups& groups, const Input<T>& x, const Input<T>& grad_out, const Input<T>& scale,
                     const Output<T>& gradient, const Tensor& grad_scale, const Tensor& grad_shift,
                     Statistics&& moments) {
    parallel_for(groups.count(), row_grain(groups.length), [&](int64_t begin, int64_t end) {
        for (int64_t group = begin; group < end; ++group) {
            const int64_t start = group * groups.length;
            const Moments own = moments(group);
            const double mean = own.mean;
            const double invstd = own.invstd;
            const auto count = static_cast<double>(groups.length);
            const int64_t spatial = groups.channels.spatial;
            spans::Sums sums;
            const auto weight = [&](int64_t c) { return static_cast<double>(scale ? scale[c] : T(1)); };
            groups.for_each_channel(group, [&](int64_t c, int64_t i) {
                const int64_t at = start + i;
                const spans::Sums here =
                    spans::products<T>(grad_out.data() + at, nullptr, x.data() + at, spatial, mean);
                sums += {here.own * weight(c), here.product * weight(c)};
            });
            const double slope = invstd * invstd * sums.product / count;
            groups.for_each_channel(group, [&](int64_t c, int64_t i) {
                const int64_t at = start + i;
                const T factor = scale ? scale[c] : T(1);
                spans::gradient_scaled<T>(grad_out.data() + at, factor, x.data() + at, gradient.data() + at, spatial,
                                          mean, invstd, sums.own / count, slope);
            });
        }
    });
    const Channels& channels = groups.channels;
    const Output<T> scales(grad_scale, channels.count);
    const Output<T> shifts(grad_shift, channels.count);
    parallel_for(channels.count, channels.grain(), [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
            double product = 0;
            double sum = 0;
            for (int64_t n = 0; n < channels.samples; ++n) {
                const Moments own = moments(n * groups.per_sample + c / groups.width);
                const int64_t at = channels.first(n, c);
                const spans::Sums here =
                    spans::products<T>(grad_out.data() + at, nullptr, x.data() + at, channels.spatial, own.mean);
                product += here.product * own.invstd;
                sum += here.own;
            }
            scales[c] = static_cast<T>(product);
            shifts[c] = static_cast<T>(sum);
        }
    });
    scales.store();
    shifts.store();
    gradient.store();
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_GROUP_NORM_H_
