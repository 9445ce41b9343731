// BatchNorm, as a whole and in pieces: a channel of all samples is one set.
#include "sets.h"

namespace diopi::cuda {

namespace {

// Joins the statistics of a batch into the running ones, which keep the unbiased variance.
void update_running(double* new_mean, double* new_variance, const double* old_mean, const double* old_variance,
                    const double* means, const double* variances, int64_t channels, double count, double momentum) {
    for_each(channels, [=] DIOPI_KERNEL(int64_t c) {
        const double squares = variances[c] * count;
        new_mean[c] = (1 - momentum) * old_mean[c] + momentum * means[c];
        new_variance[c] = (1 - momentum) * old_variance[c] + momentum * squares / (count - 1);
    });
}

void copy_doubles(double* to, const double* from, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) { to[i] = from[i]; });
}

// The gradient where the statistics are constants.
template <typename T>
void scaled_gradients(const Sets& sets, T* result, const T* g, const double* weight, const double* deviations) {
    for_each(sets.count * sets.length, [=] DIOPI_KERNEL(int64_t k) {
        const int64_t c = k / sets.length;
        const int64_t at = sets.place(c, k % sets.length);
        result[at] = static_cast<T>(static_cast<double>(g[at]) * deviations[c] * (weight != nullptr ? weight[c] : 1));
    });
}

// What the joined sums make of the gradients of elements, with the number of all elements in `counts`.
template <typename T>
void gradients_of_parts(const Sets& sets, T* result, const T* g, const T* x, const double* weight, const double* means,
                        const double* deviations, const double* sums, const double* products, const double* counts,
                        int64_t parts) {
    for_each(sets.count * sets.length, [=] DIOPI_KERNEL(int64_t k) {
        double total = 0;
        for (int64_t part = 0; part < parts; ++part) {
            total += counts[part];
        }
        const int64_t c = k / sets.length;
        const int64_t at = sets.place(c, k % sets.length);
        const double invstd = deviations[c];
        const double slope = products[c] / total * invstd * invstd;
        const double own =
            static_cast<double>(g[at]) - sums[c] / total - (static_cast<double>(x[at]) - means[c]) * slope;
        result[at] = static_cast<T>(own * invstd * (weight != nullptr ? weight[c] : 1));
    });
}

void multiply(double* to, const double* a, const double* b, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) { to[i] = a[i] * b[i]; });
}

// The mean and squares of all parts from those of each, around the common mean.
void join_parts(double* means, double* variances, const double* part_means, const double* part_deviations,
                const double* sizes, int64_t parts, int64_t channels, double eps) {
    for_each(channels, [=] DIOPI_KERNEL(int64_t c) {
        double count = 0;
        double sum = 0;
        for (int64_t part = 0; part < parts; ++part) {
            count += sizes[part];
            sum += sizes[part] * part_means[part * channels + c];
        }
        const double mean = sum / count;
        double squares = 0;
        for (int64_t part = 0; part < parts; ++part) {
            const int64_t at = part * channels + c;
            const double variance = 1 / (part_deviations[at] * part_deviations[at]) - eps;
            const double distance = part_means[at] - mean;
            squares += sizes[part] * (variance + distance * distance);
        }
        means[c] = mean;
        variances[c] = squares / count;
    });
}

// As update_running, with the number of elements on the device.
void update_running_of_parts(double* new_mean, double* new_variance, const double* old_mean, const double* old_variance,
                             const double* means, const double* variances, const double* sizes, int64_t parts,
                             int64_t channels, double share) {
    for_each(channels, [=] DIOPI_KERNEL(int64_t c) {
        double count = 0;
        for (int64_t part = 0; part < parts; ++part) {
            count += sizes[part];
        }
        new_mean[c] = (1 - share) * old_mean[c] + share * means[c];
        new_variance[c] = (1 - share) * old_variance[c] + share * variances[c] * count / (count - 1);
    });
}

}  // namespace

}  // namespace diopi::cuda

namespace diopi::cpu {

using cuda::Sets;
using cuda::SetValues;

void normalise_channels(const Tensor& out_tensor, const Tensor& mean_tensor, const Tensor& invstd_tensor,
                        const Tensor& input_tensor, const Tensor& weight_tensor, const Tensor& bias_tensor,
                        const Tensor& running_mean_tensor, const Tensor& running_var_tensor, const Channels& channels,
                        bool training, double momentum, double eps) {
    const Sets sets = Sets::of_channels(channels);
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<double> scale(weight_tensor);
        const Input<double> shift(bias_tensor);
        const Output<T> y(out_tensor);
        const Output<double> means(mean_tensor);
        const Output<double> deviations(invstd_tensor);
        if (training) {
            cuda::statistics<T>(sets, x.data(), true, means.data(), deviations.data());
            if (!running_mean_tensor.is_null()) {
                const Input<double> old_mean(running_mean_tensor);
                const Input<double> old_variance(running_var_tensor);
                const SetValues new_mean(sets.count);
                const SetValues new_variance(sets.count);
                cuda::update_running(new_mean.data(), new_variance.data(), old_mean.data(), old_variance.data(),
                                     means.data(), deviations.data(), sets.count, static_cast<double>(sets.length),
                                     momentum);
                detail::store_dense(running_mean_tensor, Dtype::kFloat64, new_mean.data());
                detail::store_dense(running_var_tensor, Dtype::kFloat64, new_variance.data());
            }
        } else {
            const Input<double> running_mean(running_mean_tensor);
            const Input<double> running_variance(running_var_tensor);
            cuda::copy_doubles(means.data(), running_mean.data(), sets.count);
            cuda::copy_doubles(deviations.data(), running_variance.data(), sets.count);
        }
        cuda::invert_deviations(deviations.data(), sets.count, eps);
        cuda::normalise<T, double>(sets, y.data(), x.data(), means.data(), deviations.data(), scale.data(),
                                   shift.data());
        y.store();
        means.store();
        deviations.store();
    });
}

void channel_gradients(const Tensor& gradient_tensor, const Tensor& scale_tensor, const Tensor& shift_tensor,
                       const Tensor& incoming_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                       const Tensor& used_mean, const Tensor& used_deviation, const Channels& channels, bool training,
                       double eps) {
    const Sets sets = Sets::of_channels(channels);
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> incoming(incoming_tensor);
        const Input<double> factors(weight_tensor);
        const Input<double> means(used_mean);
        const Input<double> used(used_deviation);
        const SetValues deviations(sets.count);
        cuda::copy_doubles(deviations.data(), used.data(), sets.count);
        if (!training) {
            cuda::invert_deviations(deviations.data(), sets.count, eps);
        }
        const Output<T> gradient(gradient_tensor);
        const Output<double> scale(scale_tensor, sets.count);
        const Output<double> shift(shift_tensor, sets.count);
        const SetValues products(sets.count);
        const SetValues sums(sets.count);
        cuda::set_sums<T, double>(sets, incoming.data(), x.data(), nullptr, means.data(), shift.data(), scale.data());
        cuda::set_sums<T, double>(sets, incoming.data(), x.data(), factors.data(), means.data(), sums.data(),
                                  products.data());
        if (training) {
            cuda::gradients<T, double>(sets, gradient.data(), incoming.data(), x.data(), factors.data(), means.data(),
                                       deviations.data(), sums.data(), products.data(),
                                       static_cast<double>(sets.length));
        } else {
            cuda::scaled_gradients<T>(sets, gradient.data(), incoming.data(), factors.data(), deviations.data());
        }
        cuda::multiply(scale.data(), scale.data(), deviations.data(), sets.count);
        gradient.store();
        scale.store();
        shift.store();
    });
}

void channel_statistics(const Tensor& mean_tensor, const Tensor& invstd_tensor, const Tensor& input_tensor,
                        const Channels& channels, double eps) {
    const Sets sets = Sets::of_channels(channels);
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Output<double> means(mean_tensor);
        const Output<double> deviations(invstd_tensor);
        cuda::statistics<T>(sets, x.data(), true, means.data(), deviations.data());
        cuda::invert_deviations(deviations.data(), sets.count, eps);
        means.store();
        deviations.store();
    });
}

void join_statistics(const Tensor& mean_tensor, const Tensor& invstd_tensor, const Tensor& mean_all_tensor,
                     const Tensor& invstd_all_tensor, const Tensor& running_mean_tensor,
                     const Tensor& running_var_tensor, const Tensor& counts_tensor, const Channels& channels,
                     float momentum, float eps) {
    const int64_t parts = counts_tensor.shape[0];
    const Input<double> part_means(mean_all_tensor);
    const Input<double> part_deviations(invstd_all_tensor);
    const Input<double> sizes(counts_tensor);
    const Output<double> means(mean_tensor);
    const Output<double> deviations(invstd_tensor);
    cuda::join_parts(means.data(), deviations.data(), part_means.data(), part_deviations.data(), sizes.data(), parts,
                     channels.count, static_cast<double>(eps));
    if (!running_mean_tensor.is_null()) {
        const Input<double> old_mean(running_mean_tensor);
        const Input<double> old_variance(running_var_tensor);
        const SetValues new_mean(channels.count);
        const SetValues new_variance(channels.count);
        cuda::update_running_of_parts(new_mean.data(), new_variance.data(), old_mean.data(), old_variance.data(),
                                      means.data(), deviations.data(), sizes.data(), parts, channels.count,
                                      static_cast<double>(momentum));
        detail::store_dense(running_mean_tensor, Dtype::kFloat64, new_mean.data());
        detail::store_dense(running_var_tensor, Dtype::kFloat64, new_variance.data());
    }
    cuda::invert_deviations(deviations.data(), channels.count, static_cast<double>(eps));
    means.store();
    deviations.store();
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
        cuda::normalise<T, double>(Sets::of_channels(channels), y.data(), x.data(), means.data(), deviations.data(),
                                   scale.data(), shift.data());
        y.store();
    });
}

void channel_sums(const Tensor& sum_tensor, const Tensor& product_tensor, const Tensor& scale_tensor,
                  const Tensor& shift_tensor, const Tensor& incoming_tensor, const Tensor& input_tensor,
                  const Tensor& mean_tensor, const Tensor& invstd_tensor, const Channels& channels, bool input_g,
                  bool weight_g, bool bias_g) {
    const Sets sets = Sets::of_channels(channels);
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> incoming(incoming_tensor);
        const Input<double> means(mean_tensor);
        const Input<double> deviations(invstd_tensor);
        // What no flag asks for is dropped, also where there is room for it.
        const Tensor none;
        const Output<double> sums(input_g ? sum_tensor : none, sets.count);
        const Output<double> products(input_g ? product_tensor : none, sets.count);
        const Output<double> scale(weight_g ? scale_tensor : none, sets.count);
        const Output<double> shift(bias_g ? shift_tensor : none, sets.count);
        cuda::set_sums<T, double>(sets, incoming.data(), x.data(), nullptr, means.data(), sums.data(), products.data());
        cuda::multiply(scale.data(), products.data(), deviations.data(), sets.count);
        cuda::copy_doubles(shift.data(), sums.data(), sets.count);
        sums.store();
        products.store();
        scale.store();
        shift.store();
    });
}

void gradients_from_sums(const Tensor& gradient_tensor, const Tensor& incoming_tensor, const Tensor& input_tensor,
                         const Tensor& mean_tensor, const Tensor& invstd_tensor, const Tensor& weight_tensor,
                         const Tensor& sum_tensor, const Tensor& product_tensor, const Tensor& count_tensor,
                         const Channels& channels) {
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> incoming(incoming_tensor);
        const Input<double> means(mean_tensor);
        const Input<double> deviations(invstd_tensor);
        const Input<double> factors(weight_tensor);
        const Input<double> sums(sum_tensor);
        const Input<double> products(product_tensor);
        const Input<double> counts(count_tensor);
        const Output<T> gradient(gradient_tensor);
        cuda::gradients_of_parts<T>(Sets::of_channels(channels), gradient.data(), incoming.data(), x.data(),
                                    factors.data(), means.data(), deviations.data(), sums.data(), products.data(),
                                    counts.data(), count_tensor.numel);
        gradient.store();
    });
}

}  // namespace diopi::cpu
