// The pieces of batch normalisation over several devices (torch.nn.SyncBatchNorm): statistics of one part of a batch,
// their union, and the gradient from sums that were joined. All in double.
#include <diopi/functions.h>

#include "norm.h"

using namespace diopi::cpu;

namespace {

// `result` is what the operator makes of the input element by element.
void check_elements(const Tensor& result, const Tensor& input) {
    require_same_dtype(result, input);
    require_same_shape(result, input);
    require_one_device({&result, &input});
}

void require_vectors(std::initializer_list<const Tensor*> vectors, int64_t length) {
    for (const Tensor* vector : vectors) {
        require_shape(*vector, {length});
    }
}

}  // namespace

DIOPI_API diopiError_t diopiBatchNormStats(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t mean,
                                           diopiTensorHandle_t invstd, diopiConstTensorHandle_t input, double eps) {
    return guarded("diopiBatchNormStats", [&] {
        const Tensor mean_tensor = tensor("mean", mean, kStatistic);
        const Tensor invstd_tensor = tensor("invstd", invstd, kStatistic);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Channels channels(input_tensor);
        require_vectors({&mean_tensor, &invstd_tensor}, channels.count);
        require_separate({&mean_tensor, &invstd_tensor}, {&input_tensor});
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
    });
}

DIOPI_API diopiError_t diopiBatchNormGatherStatsWithCounts(
    diopiContextHandle_t /*ctx*/, diopiTensorHandle_t mean, diopiTensorHandle_t invstd, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t mean_all, diopiConstTensorHandle_t invstd_all, diopiTensorHandle_t running_mean,
    diopiTensorHandle_t running_var, float momentum, float eps, diopiConstTensorHandle_t counts) {
    return guarded("diopiBatchNormGatherStatsWithCounts", [&] {
        const Tensor mean_tensor = tensor("mean", mean, kStatistic);
        const Tensor invstd_tensor = tensor("invstd", invstd, kStatistic);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor mean_all_tensor = tensor("mean_all", mean_all, kStatistic);
        const Tensor invstd_all_tensor = tensor("invstd_all", invstd_all, kStatistic);
        const Tensor running_mean_tensor = optional_tensor("running_mean", running_mean, kFloating);
        const Tensor running_var_tensor = optional_tensor("running_var", running_var, kFloating);
        const Tensor counts_tensor = tensor("counts", counts, kFloating);
        const Channels channels(input_tensor);
        require(running_mean_tensor.is_null() == running_var_tensor.is_null(),
                "C1: running_mean and running_var are both given or both null");
        require_rank(counts_tensor, 1, 1);
        const int64_t parts = counts_tensor.shape[0];
        require_shape(mean_all_tensor, {parts, channels.count});
        require_shape(invstd_all_tensor, {parts, channels.count});
        require_vectors({&mean_tensor, &invstd_tensor, &running_mean_tensor, &running_var_tensor}, channels.count);
        require_separate({&mean_tensor, &invstd_tensor, &running_mean_tensor, &running_var_tensor},
                         {&input_tensor, &mean_all_tensor, &invstd_all_tensor, &counts_tensor});
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
        const double share = momentum;
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
                new_mean[c] = (1 - share) * old_mean[c] + share * own;
                new_variance[c] = (1 - share) * old_variance[c] + share * squares / (count - 1);
            }
        }
        means.store();
        deviations.store();
        if (old_mean) {
            detail::store_dense(running_mean_tensor, Dtype::kFloat64, new_mean.data());
            detail::store_dense(running_var_tensor, Dtype::kFloat64, new_variance.data());
        }
    });
}

DIOPI_API diopiError_t diopiBatchNormElemt(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                           diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                           diopiConstTensorHandle_t bias, diopiConstTensorHandle_t mean,
                                           diopiConstTensorHandle_t invstd, float /*eps*/) {
    return guarded("diopiBatchNormElemt", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const Tensor mean_tensor = tensor("mean", mean, kStatistic);
        const Tensor invstd_tensor = tensor("invstd", invstd, kStatistic);
        const Channels channels(input_tensor);
        check_elements(out_tensor, input_tensor);
        require_vectors({&weight_tensor, &bias_tensor, &mean_tensor, &invstd_tensor}, channels.count);
        require_separate({&out_tensor}, {&weight_tensor, &bias_tensor, &mean_tensor, &invstd_tensor});
        require_no_overlap(out_tensor, input_tensor);
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
                    channels.for_each(c,
                                      [&](int64_t i) { y[i] = static_cast<T>((x[i] - means[c]) * factor + offset); });
                }
            });
            y.store();
        });
    });
}

DIOPI_API diopiError_t diopiBatchNormBackwardReduce(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t sum_dy,
                                                    diopiTensorHandle_t sum_dy_xmu, diopiTensorHandle_t grad_weight,
                                                    diopiTensorHandle_t grad_bias, diopiConstTensorHandle_t grad_out,
                                                    diopiConstTensorHandle_t input, diopiConstTensorHandle_t mean,
                                                    diopiConstTensorHandle_t invstd, diopiConstTensorHandle_t weight,
                                                    bool input_g, bool weight_g, bool bias_g) {
    return guarded("diopiBatchNormBackwardReduce", [&] {
        const Tensor sum_tensor = optional_tensor("sum_dy", sum_dy, kStatistic);
        const Tensor product_tensor = optional_tensor("sum_dy_xmu", sum_dy_xmu, kStatistic);
        const Tensor scale_tensor = optional_tensor("grad_weight", grad_weight, kFloating);
        const Tensor shift_tensor = optional_tensor("grad_bias", grad_bias, kFloating);
        const Tensor incoming_tensor = tensor("grad_out", grad_out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor mean_tensor = tensor("mean", mean, kStatistic);
        const Tensor invstd_tensor = tensor("invstd", invstd, kStatistic);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Channels channels(input_tensor);
        require((!input_g || (!sum_tensor.is_null() && !product_tensor.is_null())) &&
                    (!weight_g || !scale_tensor.is_null()) && (!bias_g || !shift_tensor.is_null()),
                "C1: no output is null whose flag input_g, weight_g or bias_g is set");
        check_elements(incoming_tensor, input_tensor);
        require_vectors(
            {&sum_tensor, &product_tensor, &scale_tensor, &shift_tensor, &mean_tensor, &invstd_tensor, &weight_tensor},
            channels.count);
        require_separate({&sum_tensor, &product_tensor, &scale_tensor, &shift_tensor},
                         {&incoming_tensor, &input_tensor, &mean_tensor, &invstd_tensor, &weight_tensor});
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> incoming(incoming_tensor);
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
                        sum += incoming[i];
                        product += incoming[i] * (x[i] - means[c]);
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
    });
}

DIOPI_API diopiError_t diopiBatchNormBackwardElemt(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                                   diopiConstTensorHandle_t grad_out, diopiConstTensorHandle_t input,
                                                   diopiConstTensorHandle_t mean, diopiConstTensorHandle_t invstd,
                                                   diopiConstTensorHandle_t weight, diopiConstTensorHandle_t sum_dy,
                                                   diopiConstTensorHandle_t sum_dy_xmu,
                                                   diopiConstTensorHandle_t count) {
    return guarded("diopiBatchNormBackwardElemt", [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor incoming_tensor = tensor("grad_out", grad_out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor mean_tensor = tensor("mean", mean, kStatistic);
        const Tensor invstd_tensor = tensor("invstd", invstd, kStatistic);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor sum_tensor = tensor("sum_dy", sum_dy, kStatistic);
        const Tensor product_tensor = tensor("sum_dy_xmu", sum_dy_xmu, kStatistic);
        const Tensor count_tensor = tensor("count", count, kInt32);
        const Channels channels(input_tensor);
        check_elements(gradient_tensor, input_tensor);
        check_elements(incoming_tensor, input_tensor);
        require_rank(count_tensor, 1, 1);
        require_vectors({&mean_tensor, &invstd_tensor, &weight_tensor, &sum_tensor, &product_tensor}, channels.count);
        require_separate({&gradient_tensor},
                         {&mean_tensor, &invstd_tensor, &weight_tensor, &sum_tensor, &product_tensor, &count_tensor});
        require_no_overlap(gradient_tensor, incoming_tensor);
        require_no_overlap(gradient_tensor, input_tensor);
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
                        gradient[i] =
                            static_cast<T>((incoming[i] - mean_gradient - (x[i] - means[c]) * slope) * factor);
                    });
                }
            });
            gradient.store();
        });
    });
}
