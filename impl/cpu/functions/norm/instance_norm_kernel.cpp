// InstanceNorm and its gradient: group normalisation with one channel to a group. The loops.
#include "norm/group_norm.h"
#include "norm/norm_kernels.h"

namespace diopigen::core {

namespace {

Groups one_channel_each(const Channels& channels) { return Groups(channels, std::max<int64_t>(channels.count, 1)); }

}  // namespace

void normalise_channels_of_samples(const Tensor& to_tensor, const Tensor& from_tensor, const Tensor& scale_tensor,
                                   const Tensor& bias_tensor, const Channels& channels, double eps) {
    dispatch_compute<kFloating>(from_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(from_tensor);
        const Input<T> factors(scale_tensor);
        const Input<T> shifts(bias_tensor);
        const Output<T> y(to_tensor);
        normalise_groups(one_channel_each(channels), x, factors, shifts, y, eps, [](int64_t, Moments) {});
        y.store();
    });
}

void channel_of_sample_gradients(const Tensor& gradient_tensor, const Tensor& grad_scale_tensor,
                                 const Tensor& grad_bias_tensor, const Tensor& grad_out_tensor,
                                 const Tensor& input_tensor, const Tensor& scale_tensor, const Channels& channels,
                                 double eps) {
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> grad_out(grad_out_tensor);
        const Input<T> factors(scale_tensor);
        const Output<T> gradient(gradient_tensor, input_tensor.numel);
        const Groups groups = one_channel_each(channels);
        std::vector<Moments> moments(static_cast<size_t>(groups.count()));
        parallel_for(groups.count(), row_grain(groups.length), [&](int64_t begin, int64_t end) {
            for (int64_t group = begin; group < end; ++group) {
                moments[group] = moments_of(x.data() + group * groups.length, groups.length, eps);
            }
        });
        group_gradients(groups, x, grad_out, factors, gradient, grad_scale_tensor, grad_bias_tensor,
                        [&](int64_t group) { return moments[group]; });
    });
}

}  // namespace diopigen::core
