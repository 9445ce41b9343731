// Groups of channels of a sample, normalised over the group: GroupNorm, and InstanceNorm with a channel to a group.
#ifndef DIOPI_CPU_GROUP_NORM_H_
#define DIOPI_CPU_GROUP_NORM_H_

#include "norm.h"

namespace diopi::cpu {

struct Groups {
    Groups(const Channels& layout, int64_t groups_per_sample)
        : channels(layout),
          per_sample(groups_per_sample),
          width(layout.count / groups_per_sample),
          length(width * layout.spatial) {}

    int64_t count() const { return channels.samples * per_sample; }
    // The channel of element i of a group.
    int64_t channel(int64_t group, int64_t i) const { return group % per_sample * width + i / channels.spatial; }

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
            for (int64_t i = 0; i < groups.length; ++i) {
                const int64_t c = groups.channel(group, i);
                const double normal = (from[i] - moments.mean) * moments.invstd;
                to[i] = static_cast<T>(normal * (scale ? scale[c] : T(1)) + (shift ? shift[c] : T(0)));
            }
            keep(group, moments);
        }
    });
}

// Gradients with respect to elements, scale and shift; `moments(group)` are the statistics.
template <typename T, typename Statistics>
void group_gradients(const Groups& groups, const Input<T>& x, const Input<T>& incoming, const Input<T>& scale,
                     const Output<T>& gradient, const Tensor& grad_scale, const Tensor& grad_shift,
                     Statistics&& moments) {
    parallel_for(groups.count(), row_grain(groups.length), [&](int64_t begin, int64_t end) {
        for (int64_t group = begin; group < end; ++group) {
            const int64_t first = group * groups.length;
            moments_gradient(
                x.data() + first, incoming.data() + first, gradient.data() + first, groups.length, moments(group),
                [&](int64_t i) { return static_cast<double>(scale ? scale[groups.channel(group, i)] : T(1)); });
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
                for (int64_t i = channels.first(n, c); i < channels.first(n, c) + channels.spatial; ++i) {
                    product += incoming[i] * ((x[i] - own.mean) * own.invstd);
                    sum += incoming[i];
                }
            }
            scales[c] = static_cast<T>(product);
            shifts[c] = static_cast<T>(sum);
        }
    });
    scales.store();
    shifts.store();
    gradient.store();
}

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_GROUP_NORM_H_
