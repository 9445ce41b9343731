// BatchNorm, as one operator and in pieces: a channel of all samples is one set. What follows from the sums of a
// channel is computed by one kernel, in double, and each element by one more.
#include "channel_columns.h"
#include "channel_results.h"
#include "channel_sums.h"

namespace diopigen::cuda {

namespace {

template <typename S>
void scale_channels(const Channels& channels, S* y, const S* x, const Scaling<S>* scalings) {
    if (has_positions(channels)) {
        scale_spans<S>(channels.samples * channels.count, channels.spatial, channels.count, y, x, scalings, nullptr,
                       nullptr);
        return;
    }
    const int64_t columns = channels.count * channels.spatial;
    dispatch_spans<S>(columns, {y, x}, [&](auto vector) {
        const ColumnParts parts(channels.samples, columns, decltype(vector)::value);
        for_groups(parts.groups(), kThreads, 0,
                   ScaleColumns<S, decltype(vector)::value>{parts, channels.spatial, y, x, scalings});
    });
}

template <typename S>
void slopes_of_channels(const Channels& channels, S* to, const S* g, const S* x, const Slope<S>* slopes) {
    if (has_positions(channels)) {
        slopes_of_spans<S>(channels.samples * channels.count, channels.spatial, channels.count, to, g, x, slopes,
                           nullptr);
        return;
    }
    const int64_t columns = channels.count * channels.spatial;
    dispatch_spans<S>(columns, {to, g, x}, [&](auto vector) {
        const ColumnParts parts(channels.samples, columns, decltype(vector)::value);
        for_groups(parts.groups(), kThreads, 0,
                   SlopesOfColumns<S, decltype(vector)::value>{parts, channels.spatial, to, g, x, slopes});
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

using cuda::InputValues;
using cuda::OutputValues;
using cuda::Room;

void normalise_channels(const Tensor& out_tensor, const Tensor& mean_tensor, const Tensor& invstd_tensor,
                        const Tensor& input_tensor, const Tensor& weight_tensor, const Tensor& bias_tensor,
                        const Tensor& running_mean_tensor, const Tensor& running_var_tensor, const Channels& channels,
                        bool training, double momentum, double eps) {
    const InputValues weight(weight_tensor);
    const InputValues bias(bias_tensor);
    const OutputValues means(mean_tensor);
    const OutputValues invstds(invstd_tensor);
    const cuda::RunningTensors running(running_mean_tensor, running_var_tensor);
    const cuda::ChannelFactors factors{weight.values(), bias.values()};
    dispatch<kFloating>(input_tensor.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input_tensor);
        const Output<S> y(out_tensor);
        const Room<cuda::Scaling<S>> scalings(channels.count);
        if (training) {
            const auto states = cuda::moments_of_channels<S>(channels, x.data());
            cuda::for_groups(channels.count, cuda::threads_for(states.parts), 0,
                             cuda::FinishChannel<S>{states.data(), states.parts, scalings.data(), factors,
                                                    means.values(), invstds.values(), running.values(), momentum, eps});
        } else {
            const cuda::Running fixed = running.values();
            cuda::for_each(channels.count,
                           cuda::KnownChannel<S>{fixed.old_mean, fixed.old_variance, true, scalings.data(), factors,
                                                 means.values(), invstds.values(), eps});
        }
        cuda::scale_channels<S>(channels, y.data(), x.data(), scalings.data());
        y.store();
    });
    means.store();
    invstds.store();
    if (training) {
        running.store();
    }
}

void channel_gradients(const Tensor& gradient_tensor, const Tensor& scale_tensor, const Tensor& shift_tensor,
                       const Tensor& grad_out_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                       const Tensor& used_mean, const Tensor& used_deviation, const Channels& channels, bool training,
                       double eps) {
    const InputValues weight(weight_tensor);
    const InputValues means(used_mean);
    const InputValues spreads(used_deviation);
    const OutputValues scale(scale_tensor);
    const OutputValues shift(shift_tensor);
    dispatch<kFloating>(input_tensor.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input_tensor);
        const Input<S> grad_out(grad_out_tensor);
        const Output<S> gradient(gradient_tensor, input_tensor.numel);
        const Room<cuda::Slope<S>> slopes(channels.count);
        const auto states = cuda::sums_of_channels<S>(channels, grad_out.data(), x.data(), means.values());
        cuda::for_groups(
            channels.count, cuda::threads_for(states.parts), 0,
            cuda::FinishChannelSlope<S>{states.data(), states.parts, slopes.data(), weight.values(), means.values(),
                                        spreads.values(), training, static_cast<double>(channels.elements()), eps,
                                        scale.values(), shift.values()});
        cuda::slopes_of_channels<S>(channels, gradient.data(), grad_out.data(), training ? x.data() : nullptr,
                                    slopes.data());
        gradient.store();
    });
    scale.store();
    shift.store();
}

void channel_statistics(const Tensor& mean_tensor, const Tensor& invstd_tensor, const Tensor& input_tensor,
                        const Channels& channels, double eps) {
    const OutputValues means(mean_tensor);
    const OutputValues invstds(invstd_tensor);
    dispatch<kFloating>(input_tensor.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input_tensor);
        const auto states = cuda::moments_of_channels<S>(channels, x.data());
        cuda::for_groups(channels.count, cuda::threads_for(states.parts), 0,
                         cuda::FinishChannel<S>{states.data(), states.parts, nullptr, cuda::ChannelFactors(),
                                                means.values(), invstds.values(), cuda::Running(), 0, eps});
    });
    means.store();
    invstds.store();
}

void join_statistics(const Tensor& mean_tensor, const Tensor& invstd_tensor, const Tensor& mean_all_tensor,
                     const Tensor& invstd_all_tensor, const Tensor& running_mean_tensor,
                     const Tensor& running_var_tensor, const Tensor& counts_tensor, const Channels& channels,
                     float momentum, float eps) {
    const InputValues part_means(mean_all_tensor);
    const InputValues part_invstds(invstd_all_tensor);
    const InputValues sizes(counts_tensor);
    const OutputValues means(mean_tensor);
    const OutputValues invstds(invstd_tensor);
    const cuda::RunningTensors running(running_mean_tensor, running_var_tensor);
    cuda::for_each(channels.count,
                   cuda::JoinDevices{part_means.values(), part_invstds.values(), sizes.values(), counts_tensor.numel,
                                     channels.count, means.values(), invstds.values(), running.values(),
                                     static_cast<double>(momentum), static_cast<double>(eps)});
    running.store();
    means.store();
    invstds.store();
}

void scale_channels(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                    const Tensor& bias_tensor, const Tensor& mean_tensor, const Tensor& invstd_tensor,
                    const Channels& channels) {
    const InputValues weight(weight_tensor);
    const InputValues bias(bias_tensor);
    const InputValues means(mean_tensor);
    const InputValues invstds(invstd_tensor);
    dispatch<kFloating>(input_tensor.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input_tensor);
        const Output<S> y(out_tensor);
        const Room<cuda::Scaling<S>> scalings(channels.count);
        cuda::for_each(channels.count, cuda::KnownChannel<S>{means.values(),
                                                             invstds.values(),
                                                             false,
                                                             scalings.data(),
                                                             {weight.values(), bias.values()},
                                                             cuda::Values(),
                                                             cuda::Values(),
                                                             0});
        cuda::scale_channels<S>(channels, y.data(), x.data(), scalings.data());
        y.store();
    });
}

void channel_sums(const Tensor& sum_tensor, const Tensor& product_tensor, const Tensor& scale_tensor,
                  const Tensor& shift_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                  const Tensor& mean_tensor, const Tensor& invstd_tensor, const Channels& channels, bool input_g,
                  bool weight_g, bool bias_g) {
    const InputValues means(mean_tensor);
    const InputValues invstds(invstd_tensor);
    // What no flag asks for is dropped, also where there is room for it.
    const Tensor none;
    const OutputValues sums(input_g ? sum_tensor : none);
    const OutputValues products(input_g ? product_tensor : none);
    const OutputValues scale(weight_g ? scale_tensor : none);
    const OutputValues shift(bias_g ? shift_tensor : none);
    dispatch<kFloating>(input_tensor.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input_tensor);
        const Input<S> grad_out(grad_out_tensor);
        const auto states = cuda::sums_of_channels<S>(channels, grad_out.data(), x.data(), means.values());
        cuda::for_groups(channels.count, cuda::threads_for(states.parts), 0,
                         cuda::WriteChannelSums{states.data(), states.parts, invstds.values(), sums.values(),
                                                products.values(), scale.values(), shift.values()});
    });
    sums.store();
    products.store();
    scale.store();
    shift.store();
}

void gradients_from_sums(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                         const Tensor& mean_tensor, const Tensor& invstd_tensor, const Tensor& weight_tensor,
                         const Tensor& sum_tensor, const Tensor& product_tensor, const Tensor& count_tensor,
                         const Channels& channels) {
    const InputValues weight(weight_tensor);
    const InputValues means(mean_tensor);
    const InputValues invstds(invstd_tensor);
    const InputValues sums(sum_tensor);
    const InputValues products(product_tensor);
    const InputValues counts(count_tensor);
    dispatch<kFloating>(input_tensor.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input_tensor);
        const Input<S> grad_out(grad_out_tensor);
        const Output<S> gradient(gradient_tensor);
        const Room<cuda::Slope<S>> slopes(channels.count);
        cuda::for_each(channels.count,
                       cuda::SlopeOfSums<S>{slopes.data(), weight.values(), means.values(), invstds.values(),
                                            sums.values(), products.values(), counts.values(), count_tensor.numel});
        cuda::slopes_of_channels<S>(channels, gradient.data(), grad_out.data(), x.data(), slopes.data());
        gradient.store();
    });
}

}  // namespace diopigen::core
