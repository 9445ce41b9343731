// GroupNorm and InstanceNorm: groups of channels of a sample, with a weight for each channel.
#include "held.h"
#include "norm/norm_kernels.h"
#include "span_kernels.h"

namespace diopigen::cuda {

namespace {

// A row is one channel of one sample; a group has `width` of them.
struct GroupSizes {
    int64_t count;
    int64_t width;
    int64_t channels;
    int64_t spatial;
    int64_t samples;

    explicit GroupSizes(const Groups& groups)
        : count(groups.count()),
          width(groups.width),
          channels(groups.channels.count),
          spatial(groups.channels.spatial),
          samples(groups.channels.samples) {}
    int64_t rows() const { return samples * channels; }
};

// The scaling of each row, from the moments of the parts of its group.
template <typename S>
struct FinishGroups {
    GroupSizes sizes;
    const Moments* states;
    int64_t parts;
    Scaling<S>* scalings;
    const S* weight;
    const S* bias;
    Values means;
    Values invstds;
    double eps;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        using T = Computed<S>;
        const Moments own = join_parts(group, states, k, parts, JoinMoments());
        const double invstd = 1 / numeric::sqrt(own.variance() + eps);
        for (int64_t i = group.thread(); i < sizes.width && scalings != nullptr; i += group.size()) {
            const int64_t row = k * sizes.width + i;
            const int64_t channel = row % sizes.channels;
            const double factor = weight != nullptr ? static_cast<double>(static_cast<T>(weight[channel])) : 1.0;
            scalings[row] = {Centre<S>(own.mean), static_cast<T>(invstd * factor),
                             bias != nullptr ? static_cast<T>(bias[channel]) : T(0)};
        }
        if (group.thread() == 0) {
            means.set_if_there(k, own.mean);
            invstds.set_if_there(k, invstd);
        }
    }
};

struct JoinRows {
    const Sums* states;
    int64_t parts;
    Sums* rows;

    DIOPI_DEVICE void operator()(const Group& group, int64_t row) const {
        const Sums own = join_parts(group, states, row, parts, JoinSums());
        if (group.thread() == 0) {
            rows[row] = own;
        }
    }
};

// The slope of each row, from the sums of all rows of its group.
template <typename S>
struct FinishGroupSlopes {
    GroupSizes sizes;
    const Sums* rows;
    const S* weight;
    Values means;
    Values invstds;
    Slope<S>* slopes;

    DIOPI_DEVICE double factor(int64_t row) const {
        return weight != nullptr ? static_cast<double>(static_cast<Computed<S>>(weight[row % sizes.channels])) : 1.0;
    }
    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        Sums sums;
        for (int64_t i = group.thread(); i < sizes.width; i += group.size()) {
            const Sums own = rows[k * sizes.width + i];
            const double by = factor(k * sizes.width + i);
            sums = JoinSums()(sums, {own.own * by, own.product * by});
        }
        sums = group.reduce(sums, JoinSums());
        const auto count = static_cast<double>(sizes.width * sizes.spatial);
        for (int64_t i = group.thread(); i < sizes.width; i += group.size()) {
            const int64_t row = k * sizes.width + i;
            slopes[row] = slope_of<S>(means.get(k), invstds.get(k), factor(row), sums, count, true);
        }
    }
};

// Gradients with respect to the scale and shift of each channel: sums over the samples.
template <typename S>
struct FinishChannels {
    GroupSizes sizes;
    const Sums* rows;
    Values invstds;
    S* scale;
    S* shift;

    DIOPI_DEVICE void operator()(const Group& group, int64_t channel) const {
        Sums sums;
        for (int64_t sample = group.thread(); sample < sizes.samples; sample += group.size()) {
            const int64_t row = sample * sizes.channels + channel;
            const Sums own = rows[row];
            sums = JoinSums()(sums, {own.own, own.product * invstds.get(row / sizes.width)});
        }
        sums = group.reduce(sums, JoinSums());
        if (group.thread() == 0) {
            if (scale != nullptr) {
                scale[channel] = cast<S>(sums.product);
            }
            if (shift != nullptr) {
                shift[channel] = cast<S>(sums.own);
            }
        }
    }
};

template <typename S>
void finish_moments(const GroupSizes& sizes, const S* x, Scaling<S>* scalings, const S* weight, const S* bias,
                    const Values& means, const Values& invstds, double eps) {
    const auto states = moments_of_spans<S>(sizes.count, 1, sizes.width * sizes.spatial, x, true);
    for_groups(sizes.count, threads_for(std::max(states.parts, scalings != nullptr ? sizes.width : 1)), 0,
               FinishGroups<S>{sizes, states.data(), states.parts, scalings, weight, bias, means, invstds, eps});
}

void normalise(const Groups& groups, const Tensor& out, const Tensor& mean, const Tensor& invstd, const Tensor& input,
               const Tensor& weight, const Tensor& bias, double eps) {
    const GroupSizes sizes(groups);
    const OutputValues means(mean);
    const OutputValues invstds(invstd);
    dispatch<kFloating>(core::dtype_with_factors(input, {&weight, &bias}), [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input);
        const Input<S> scale(weight);
        const Input<S> shift(bias);
        const Output<S> y(out);
        bool done = false;
        // No vector has elements of two channels.
        dispatch_spans<S>(sizes.spatial, {y.data(), x.data()}, [&](auto vector) {
            using Kernel = HeldNormal<S, decltype(vector)::value, ByChannel>;
            const RowTiles tiles(sizes.count, groups.length, decltype(vector)::value, Kernel::kHeld);
            done = tiles.fits;
            if (done) {
                const ByChannel layout{groups.per_sample, sizes.width, std::max<int64_t>(1, sizes.spatial)};
                for_groups(tiles.groups(), tiles.threads, 0,
                           Kernel{tiles, y.data(), x.data(), scale.data(), shift.data(), layout, means.values(),
                                  invstds.values(), 1.0 / static_cast<double>(groups.length), eps, true});
            }
        });
        if (!done) {
            const Room<Scaling<S>> scalings(sizes.rows());
            finish_moments<S>(sizes, x.data(), scalings.data(), scale.data(), shift.data(), means.values(),
                              invstds.values(), eps);
            scale_spans<S>(sizes.rows(), sizes.spatial, sizes.rows(), y.data(), x.data(), scalings.data(), nullptr,
                           nullptr);
        }
        y.store();
    });
    means.store();
    invstds.store();
}

void propagate(const Groups& groups, const Tensor& input_gradient, const Tensor& weight_gradient,
               const Tensor& bias_gradient, const Tensor& grad_out, const Tensor& input, const Tensor& weight,
               const Values& means, const Values& invstds) {
    const GroupSizes sizes(groups);
    dispatch<kFloating>(core::dtype_with_factors(input, {&weight, &weight_gradient, &bias_gradient}), [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input);
        const Input<S> g(grad_out);
        const Input<S> scale(weight);
        const Output<S> gradient(input_gradient, input.numel);
        const auto states =
            sums_of_spans<S>(sizes.rows(), 1, sizes.spatial, g.data(), x.data(), nullptr, means, sizes.width);
        const Room<Sums> joined(states.parts > 1 ? sizes.rows() : 0);
        const Sums* rows = states.data();
        if (states.parts > 1) {
            for_groups(sizes.rows(), threads_for(states.parts), 0,
                       JoinRows{states.data(), states.parts, joined.data()});
            rows = joined.data();
        }
        const Room<Slope<S>> slopes(sizes.rows());
        for_groups(sizes.count, threads_for(sizes.width), 0,
                   FinishGroupSlopes<S>{sizes, rows, scale.data(), means, invstds, slopes.data()});
        slopes_of_spans<S>(sizes.rows(), sizes.spatial, sizes.rows(), gradient.data(), g.data(), x.data(),
                           slopes.data(), nullptr);
        gradient.store();
        if (!weight_gradient.is_null() || !bias_gradient.is_null()) {
            const Output<S> scales(weight_gradient);
            const Output<S> shifts(bias_gradient);
            for_groups(sizes.channels, threads_for(sizes.samples), 0,
                       FinishChannels<S>{sizes, rows, invstds, weight_gradient.is_null() ? nullptr : scales.data(),
                                         bias_gradient.is_null() ? nullptr : shifts.data()});
            scales.store();
            shifts.store();
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void normalise_groups(const Tensor& out_tensor, const Tensor& mean_tensor, const Tensor& invstd_tensor,
                      const Tensor& input_tensor, const Tensor& weight_tensor, const Tensor& bias_tensor,
                      const Groups& groups, double eps) {
    cuda::normalise(groups, out_tensor, mean_tensor, invstd_tensor, input_tensor, weight_tensor, bias_tensor, eps);
}

void group_gradients(const Tensor& gradient_tensor, const Tensor& scale_tensor, const Tensor& shift_tensor,
                     const Tensor& grad_out_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                     const Tensor& mean_tensor, const Tensor& rstd_tensor, const Groups& groups) {
    const cuda::InputValues means(mean_tensor);
    const cuda::InputValues invstds(rstd_tensor);
    cuda::propagate(groups, gradient_tensor, scale_tensor, shift_tensor, grad_out_tensor, input_tensor, weight_tensor,
                    means.values(), invstds.values());
}

namespace {

Groups one_channel_each(const Channels& channels) { return Groups(channels, std::max<int64_t>(channels.count, 1)); }

}  // namespace

void normalise_channels_of_samples(const Tensor& to_tensor, const Tensor& from_tensor, const Tensor& scale_tensor,
                                   const Tensor& bias_tensor, const Channels& channels, double eps) {
    const Tensor none;
    cuda::normalise(one_channel_each(channels), to_tensor, none, none, from_tensor, scale_tensor, bias_tensor, eps);
}

void channel_of_sample_gradients(const Tensor& gradient_tensor, const Tensor& grad_scale_tensor,
                                 const Tensor& grad_bias_tensor, const Tensor& grad_out_tensor,
                                 const Tensor& input_tensor, const Tensor& scale_tensor, const Channels& channels,
                                 double eps) {
    const Groups groups = one_channel_each(channels);
    const cuda::Room<double> means(groups.count());
    const cuda::Room<double> invstds(groups.count());
    const cuda::Values mean_values{means.data(), Dtype::kFloat64};
    const cuda::Values invstd_values{invstds.data(), Dtype::kFloat64};
    dispatch<kFloating>(input_tensor.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input_tensor);
        cuda::finish_moments<S>(cuda::GroupSizes(groups), x.data(), nullptr, nullptr, nullptr, mean_values,
                                invstd_values, eps);
    });
    cuda::propagate(groups, gradient_tensor, grad_scale_tensor, grad_bias_tensor, grad_out_tensor, input_tensor,
                    scale_tensor, mean_values, invstd_values);
}

}  // namespace diopigen::core
