// LayerNorm, RMSNorm, GroupNorm and InstanceNorm: sets of elements that lie side by side.
#include "sets.h"

namespace diopi::cuda {

void normalise(const Sets& sets, const NormTensors& tensors, bool centred, double eps) {
    dispatch_compute<kFloating>(tensors.input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(tensors.input);
        const Input<T> scale(tensors.weight);
        const Input<T> shift(tensors.bias);
        const Output<T> y(tensors.out);
        const Output<double> means(tensors.mean, sets.count);
        const Output<double> deviations(tensors.invstd, sets.count);
        statistics<T>(sets, x.data(), centred, means.data(), deviations.data());
        invert_deviations(deviations.data(), sets.count, eps);
        normalise<T, T>(sets, y.data(), x.data(), means.data(), deviations.data(), scale.data(), shift.data());
        y.store();
        means.store();
        deviations.store();
    });
}

void propagate(const Sets& sets, const NormGradients& tensors, const double* means, const double* deviations) {
    const SetValues zeros(means == nullptr ? sets.count : 0);
    if (means == nullptr) {
        clear(zeros.data(), static_cast<size_t>(sets.count) * sizeof(double));
    }
    const double* around = means == nullptr ? zeros.data() : means;
    dispatch_compute<kFloating>(tensors.input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(tensors.input);
        const Input<T> incoming(tensors.incoming);
        const Input<T> scale(tensors.weight);
        const Output<T> gradient(tensors.input_gradient);
        const SetValues sums(sets.count);
        const SetValues products(sets.count);
        set_sums<T, T>(sets, incoming.data(), x.data(), scale.data(), around, sums.data(), products.data());
        gradients<T, T>(sets, gradient.data(), incoming.data(), x.data(), scale.data(), around, deviations,
                        means == nullptr ? nullptr : sums.data(), products.data(), static_cast<double>(sets.length));
        if (!tensors.weight_gradient.is_null() || !tensors.bias_gradient.is_null()) {
            const int64_t weights = sets.kind == Sets::Kind::kRows ? sets.length : sets.channels;
            const Output<T> scales(tensors.weight_gradient, weights);
            const Output<T> shifts(tensors.bias_gradient, weights);
            weight_gradients<T>(sets, scales.data(), shifts.data(), incoming.data(), x.data(), around, deviations);
            scales.store();
            shifts.store();
        }
        gradient.store();
    });
}

}  // namespace diopi::cuda

namespace diopi::cpu {

using cuda::Sets;

void normalise_rows(const Tensor& out, const Tensor& mean, const Tensor& invstd, const Tensor& input,
                    const Tensor& weight, const Tensor& bias, const Trailing& parts, double eps) {
    cuda::normalise(Sets::rows(parts), {out, mean, invstd, input, weight, bias}, true, eps);
}

void row_gradients(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                   const Tensor& grad_output, const Tensor& input, const Tensor& weight, const Tensor& mean,
                   const Tensor& invstd, const Trailing& parts) {
    const Input<double> means(mean);
    const Input<double> deviations(invstd);
    cuda::propagate(Sets::rows(parts), {grad_input, grad_weight, grad_bias, grad_output, input, weight}, means.data(),
                    deviations.data());
}

void normalise_rows_by_rms(const Tensor& out_tensor, const Tensor& inverse_tensor, const Tensor& input_tensor,
                           const Tensor& weight_tensor, const Tensor& bias_tensor, const Trailing& parts, double eps) {
    const Tensor none;
    cuda::normalise(Sets::rows(parts), {out_tensor, none, inverse_tensor, input_tensor, weight_tensor, bias_tensor},
                    false, eps);
}

void rms_row_gradients(const Tensor& gradient_tensor, const Tensor& scale_tensor, const Tensor& shift_tensor,
                       const Tensor& incoming_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                       const Tensor& inverse_tensor, const Trailing& parts) {
    const Input<double> inverses(inverse_tensor);
    cuda::propagate(Sets::rows(parts),
                    {gradient_tensor, scale_tensor, shift_tensor, incoming_tensor, input_tensor, weight_tensor},
                    nullptr, inverses.data());
}

void normalise_groups(const Tensor& out_tensor, const Tensor& mean_tensor, const Tensor& invstd_tensor,
                      const Tensor& input_tensor, const Tensor& weight_tensor, const Tensor& bias_tensor,
                      const Groups& groups, double eps) {
    cuda::normalise(Sets::groups(groups),
                    {out_tensor, mean_tensor, invstd_tensor, input_tensor, weight_tensor, bias_tensor}, true, eps);
}

void group_gradients(const Tensor& gradient_tensor, const Tensor& scale_tensor, const Tensor& shift_tensor,
                     const Tensor& incoming_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                     const Tensor& mean_tensor, const Tensor& rstd_tensor, const Groups& groups) {
    const Input<double> means(mean_tensor);
    const Input<double> deviations(rstd_tensor);
    cuda::propagate(Sets::groups(groups),
                    {gradient_tensor, scale_tensor, shift_tensor, incoming_tensor, input_tensor, weight_tensor},
                    means.data(), deviations.data());
}

namespace {

Groups one_channel_each(const Tensor& input) {
    const Channels channels(input);
    return Groups(channels, std::max<int64_t>(channels.count, 1));
}

}  // namespace

void normalise_channels_of_samples(const Tensor& to_tensor, const Tensor& from_tensor, const Tensor& scale_tensor,
                                   const Tensor& bias_tensor, double eps) {
    const Tensor none;
    cuda::normalise(Sets::groups(one_channel_each(from_tensor)),
                    {to_tensor, none, none, from_tensor, scale_tensor, bias_tensor}, true, eps);
}

void channel_of_sample_gradients(const Tensor& gradient_tensor, const Tensor& grad_scale_tensor,
                                 const Tensor& grad_bias_tensor, const Tensor& incoming_tensor,
                                 const Tensor& input_tensor, const Tensor& scale_tensor, double eps) {
    const Sets sets = Sets::groups(one_channel_each(input_tensor));
    const cuda::SetValues means(sets.count);
    const cuda::SetValues deviations(sets.count);
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        cuda::statistics<T>(sets, x.data(), true, means.data(), deviations.data());
    });
    cuda::invert_deviations(deviations.data(), sets.count, eps);
    cuda::propagate(sets,
                    {gradient_tensor, grad_scale_tensor, grad_bias_tensor, incoming_tensor, input_tensor, scale_tensor},
                    means.data(), deviations.data());
}

}  // namespace diopi::cpu
