// The pieces of batch normalisation over several devices (torch.nn.SyncBatchNorm): statistics of one part of a batch,
// their union, and the gradient from sums that were joined. All in double. The loops.
#include "norm/norm_kernels.h"
#include "norm/statistics.h"

namespace diopigen::core {

void channel_statistics(const Tensor& mean_tensor, const Tensor& invstd_tensor, const Tensor& input_tensor,
                        const Channels& channels, double eps) {
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Output<double> means(mean_tensor);
        const Output<double> deviations(invstd_tensor);
        const auto count = static_cast<double>(channels.elements());
        parallel_for(channels.count, channels.grain(), [&](int64_t begin, int64_t end) {
            for (int64_t c = begin; c < end; ++c) {
                double sum = 0;
                channels.for_each(c, [&](int64_t i) { sum += x[i]; });
                const double own = sum / count;
                double squares = 0;
                channels.for_each(c, [&](int64_t i) { squares += (x[i] - own) * (x[i] - own); });
                means[c] = own;
                deviations[c] = 1 / std::sqrt(squares / count + eps);
            }
        });
        means.store();
        deviations.store();
    });
}

void join_statistics(const Tensor& mean_tensor, const Tensor& invstd_tensor, const Tensor& mean_all_tensor,
                     const Tensor& invstd_all_tensor, const Tensor& running_mean_tensor,
                     const Tensor& running_var_tensor, const Tensor& counts_tensor, const Channels& channels,
                     float momentum, float eps) {
    const int64_t parts = counts_tensor.numel;
    const Input<double> part_means(mean_all_tensor);
    const Input<double> part_deviations(invstd_all_tensor);
    const Input<double> sizes(counts_tensor);
    const Input<double> old_mean(running_mean_tensor);
    const Input<double> old_variance(running_var_tensor);
    const Output<double> means(mean_tensor);
    const Output<double> deviations(invstd_tensor);
    std::vector<double> new_mean(static_cast<size_t>(channels.count));
    std::vector<double> new_variance(static_cast<size_t>(channels.count));
    double count = 0;
    for (int64_t part = 0; part < parts; ++part) {
        count += sizes[part];
    }
    const double new_weight = momentum;
    for (int64_t c = 0; c < channels.count; ++c) {
        double sum = 0;
        for (int64_t part = 0; part < parts; ++part) {
            sum += sizes[part] * part_means[part * channels.count + c];
        }
        const double own = sum / count;
        // Squares around the common mean: those around the part's own, and the distance of the means.
        double squares = 0;
        for (int64_t part = 0; part < parts; ++part) {
            const int64_t at = part * channels.count + c;
            const double variance = 1 / (part_deviations[at] * part_deviations[at]) - static_cast<double>(eps);
            const double distance = part_means[at] - own;
            squares += sizes[part] * (variance + distance * distance);
        }
        means[c] = own;
        deviations[c] = 1 / std::sqrt(squares / count + static_cast<double>(eps));
        if (old_mean) {
            new_mean[c] = (1 - new_weight) * old_mean[c] + new_weight * own;
            new_variance[c] = (1 - new_weight) * old_variance[c] + new_weight * squares / (count - 1);
        }
    }
    means.store();
    deviations.store();
    if (old_mean) {
        detail::store_dense(running_mean_tensor, Dtype::kFloat64, new_mean.data());
        detail::store_dense(running_var_tensor, Dtype::kFloat64, new_variance.data());
    }
}

void scale_channels(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                    const Tensor& bias_tensor, const Tensor& mean_tensor, const Tensor& invstd_tensor,
                    const Channels& channels) {
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<double> scale(weight_tensor);
        const Input<double> shift(bias_tensor);
        const Input<double> means(mean_tensor);
        const Input<double> deviations(invstd_tensor);
        const Output<T> y(out_tensor);
        parallel_for(channels.count, channels.grain(), [&](int64_t begin, int64_t end) {
            for (int64_t c = begin; c < end; ++c) {
                const double factor = deviations[c] * (scale ? scale[c] : 1);
                const double offset = shift ? shift[c] : 0;
                channels.for_each(c, [&](int64_t i) { y[i] = static_cast<T>((x[i] - means[c]) * factor + offset); });
            }
        });
        y.store();
    });
}

void channel_sums(const Tensor& sum_tensor, const Tensor& product_tensor, const Tensor& scale_tensor,
                  const Tensor& shift_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                  const Tensor& mean_tensor, const Tensor& invstd_tensor, const Channels& channels, bool input_g,
                  bool weight_g, bool bias_g) {
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> grad_out(grad_out_tensor);
        const Input<double> means(mean_tensor);
        const Input<double> deviations(invstd_tensor);
        // What no flag asks for is dropped, also where there is room for it.
        const Tensor none;
        const Output<double> sums(input_g ? sum_tensor : none, channels.count);
        const Output<double> products(input_g ? product_tensor : none, channels.count);
        const Output<double> scale(weight_g ? scale_tensor : none, channels.count);
        const Output<double> shift(bias_g ? shift_tensor : none, channels.count);
        parallel_for(channels.count, channels.grain(), [&](int64_t begin, int64_t end) {
            for (int64_t c = begin; c < end; ++c) {
                double sum = 0;
                double product = 0;
                channels.for_each(c, [&](int64_t i) {
                    sum += grad_out[i];
                    product += grad_out[i] * (x[i] - means[c]);
                });
                sums[c] = sum;
                products[c] = product;
                scale[c] = product * deviations[c];
                shift[c] = sum;
            }
        });
        sums.store();
        products.store();
        scale.store();
        shift.store();
    });
}

void gradients_from_sums(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                         const Tensor& mean_tensor, const Tensor& invstd_tensor, const Tensor& weight_tensor,
                         const Tensor& sum_tensor, const Tensor& product_tensor, const Tensor& count_tensor,
                         const Channels& channels) {
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> grad_out(grad_out_tensor);
        const Input<double> means(mean_tensor);
        const Input<double> deviations(invstd_tensor);
        const Input<double> factors(weight_tensor);
        const Input<double> sums(sum_tensor);
        const Input<double> products(product_tensor);
        const Input<double> counts(count_tensor);
        const Output<T> gradient(gradient_tensor);
        double total = 0;
        for (int64_t part = 0; part < count_tensor.numel; ++part) {
            total += counts[part];
        }
        parallel_for(channels.count, channels.grain(), [&](int64_t begin, int64_t end) {
            for (int64_t c = begin; c < end; ++c) {
                const double invstd = deviations[c];
                const double factor = invstd * (factors ? factors[c] : 1);
                const double mean_gradient = sums[c] / total;
                const double slope = products[c] / total * invstd * invstd;
                channels.for_each(c, [&](int64_t i) {
                    gradient[i] = static_cast<T>((grad_out[i] - mean_gradient - (x[i] - means[c]) * slope) * factor);
                });
            }
        });
        gradient.store();
    });
}

}  // namespace diopigen::core
