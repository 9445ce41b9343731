// BatchNorm and its gradient: statistics per channel, in double. The loops.
#include "norm/norm_kernels.h"
#include "norm/statistics.h"

namespace diopigen::core {

void normalise_channels(const Tensor& out_tensor, const Tensor& mean_tensor, const Tensor& invstd_tensor,
                        const Tensor& input_tensor, const Tensor& weight_tensor, const Tensor& bias_tensor,
                        const Tensor& running_mean_tensor, const Tensor& running_var_tensor, const Channels& channels,
                        bool training, double momentum, double eps) {
    const bool has_running = !running_mean_tensor.is_null();
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<double> scale(weight_tensor);
        const Input<double> shift(bias_tensor);
        const Input<double> old_mean(running_mean_tensor);
        const Input<double> old_variance(running_var_tensor);
        const Output<T> y(out_tensor);
        const Output<double> means(mean_tensor, channels.count);
        const Output<double> deviations(invstd_tensor, channels.count);
        std::vector<double> new_mean(static_cast<size_t>(channels.count));
        std::vector<double> new_variance(static_cast<size_t>(channels.count));
        const auto count = static_cast<double>(channels.elements());
        parallel_for(channels.count, channels.grain(), [&](int64_t begin, int64_t end) {
            for (int64_t c = begin; c < end; ++c) {
                double mean = has_running ? old_mean[c] : 0;
                double variance = has_running ? old_variance[c] : 0;
                if (training) {
                    double sum = 0;
                    channels.for_each_row(c, [&](int64_t i) { sum += spans::sum(x.data() + i, channels.spatial); });
                    mean = sum / count;
                    double squares = 0;
                    channels.for_each_row(
                        c, [&](int64_t i) { squares += spans::squares(x.data() + i, channels.spatial, mean); });
                    variance = squares / count;
                    if (has_running) {
                        new_mean[c] = (1 - momentum) * old_mean[c] + momentum * mean;
                        new_variance[c] = (1 - momentum) * old_variance[c] + momentum * squares / (count - 1);
                    }
                }
                const double invstd = 1 / std::sqrt(variance + eps);
                const double factor = invstd * (scale ? scale[c] : 1);
                const double offset = shift ? shift[c] : 0;
                channels.for_each_row(c, [&](int64_t i) {
                    spans::scale(x.data() + i, y.data() + i, channels.spatial, mean, factor, offset);
                });
                means[c] = mean;
                deviations[c] = invstd;
            }
        });
        y.store();
        means.store();
        deviations.store();
        if (training && has_running) {
            detail::store_dense(running_mean_tensor, Dtype::kFloat64, new_mean.data());
            detail::store_dense(running_var_tensor, Dtype::kFloat64, new_variance.data());
        }
    });
}

void channel_gradients(const Tensor& gradient_tensor, const Tensor& scale_tensor, const Tensor& shift_tensor,
                       const Tensor& grad_out_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                       const Tensor& used_mean, const Tensor& used_deviation, const Channels& channels, bool training,
                       double eps) {
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> grad_out(grad_out_tensor);
        const Input<double> factors(weight_tensor);
        const Input<double> means(used_mean);
        const Input<double> deviations(used_deviation);
        const Output<T> gradient(gradient_tensor, input_tensor.numel);
        const Output<double> scale(scale_tensor, channels.count);
        const Output<double> shift(shift_tensor, channels.count);
        const auto count = static_cast<double>(channels.elements());
        parallel_for(channels.count, channels.grain(), [&](int64_t begin, int64_t end) {
            for (int64_t c = begin; c < end; ++c) {
                const double mean = means[c];
                const double invstd = training ? deviations[c] : 1 / std::sqrt(deviations[c] + eps);
                const double factor = invstd * (factors ? factors[c] : 1);
                spans::Sums sums;
                channels.for_each_row(c, [&](int64_t i) {
                    sums += spans::products<T>(grad_out.data() + i, nullptr, x.data() + i, channels.spatial, mean);
                });
                const double product = sums.product * invstd;
                const double own = training ? sums.own / count : 0;
                const double slope = training ? invstd * product / count : 0;
                channels.for_each_row(c, [&](int64_t i) {
                    if (training) {
                        spans::gradient<T>(grad_out.data() + i, nullptr, x.data() + i, gradient.data() + i,
                                           channels.spatial, mean, factor, own, slope);
                    } else {
                        spans::scale<T>(grad_out.data() + i, gradient.data() + i, channels.spatial, 0, factor, 0);
                    }
                });
                scale[c] = product;
                shift[c] = sums.own;
            }
        });
        gradient.store();
        scale.store();
        shift.store();
    });
}

}  // namespace diopigen::core
