// BatchNorm and its gradient: statistics per channel, in double.
#include <diopi/functions.h>

#include "norm.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiBatchNorm(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                      diopiTensorHandle_t save_mean, diopiTensorHandle_t save_invstd,
                                      diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                      diopiConstTensorHandle_t bias, diopiTensorHandle_t running_mean,
                                      diopiTensorHandle_t running_var, bool training, double momentum, double eps) {
    return guarded("diopiBatchNorm", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor mean_tensor = tensor("save_mean", save_mean, kStatistic);
        const Tensor invstd_tensor = tensor("save_invstd", save_invstd, kStatistic);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const Tensor running_mean_tensor = optional_tensor("running_mean", running_mean, kFloating);
        const Tensor running_var_tensor = optional_tensor("running_var", running_var, kFloating);
        const Channels channels(input_tensor);
        require_same_dtype(out_tensor, input_tensor);
        require_same_shape(out_tensor, input_tensor);
        for (const Tensor* vector :
             {&mean_tensor, &invstd_tensor, &weight_tensor, &bias_tensor, &running_mean_tensor, &running_var_tensor}) {
            require_shape(*vector, {channels.count});
        }
        require_separate({&out_tensor, &mean_tensor, &invstd_tensor, &running_mean_tensor, &running_var_tensor},
                         {&weight_tensor, &bias_tensor});
        require_separate({&mean_tensor, &invstd_tensor, &running_mean_tensor, &running_var_tensor}, {&input_tensor});
        require_no_overlap(out_tensor, input_tensor);
        const bool has_running = !running_mean_tensor.is_null();
        require(training || (has_running && !running_var_tensor.is_null()),
                "C1: running_mean and running_var are given in evaluation");
        require(has_running == !running_var_tensor.is_null(),
                "C2: running_mean and running_var are both given or both null");
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<double> scale(weight_tensor);
            const Input<double> shift(bias_tensor);
            const Input<double> old_mean(running_mean_tensor);
            const Input<double> old_variance(running_var_tensor);
            const Output<T> y(out_tensor);
            const Output<double> means(mean_tensor);
            const Output<double> deviations(invstd_tensor);
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
    });
}

DIOPI_API diopiError_t diopiBatchNormBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                              diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                              diopiConstTensorHandle_t weight, diopiConstTensorHandle_t running_mean,
                                              diopiConstTensorHandle_t running_var, diopiConstTensorHandle_t save_mean,
                                              diopiConstTensorHandle_t save_invstd, bool training, double eps) {
    return guarded("diopiBatchNormBackward", [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor scale_tensor = optional_tensor("grad_weight", grad_weight, kFloating);
        const Tensor shift_tensor = optional_tensor("grad_bias", grad_bias, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor running_mean_tensor = optional_tensor("running_mean", running_mean, kFloating);
        const Tensor running_var_tensor = optional_tensor("running_var", running_var, kFloating);
        const Tensor mean_tensor = optional_tensor("save_mean", save_mean, kStatistic);
        const Tensor invstd_tensor = optional_tensor("save_invstd", save_invstd, kStatistic);
        const Channels channels(input_tensor);
        require(!training || (!mean_tensor.is_null() && !invstd_tensor.is_null()),
                "C1: save_mean and save_invstd are given in training");
        require(training || (!running_mean_tensor.is_null() && !running_var_tensor.is_null()),
                "C2: running_mean and running_var are given in evaluation");
        for (const Tensor* same : {&gradient_tensor, &incoming_tensor}) {
            require_same_dtype(*same, input_tensor);
            require_same_shape(*same, input_tensor);
        }
        for (const Tensor* vector : {&scale_tensor, &shift_tensor, &weight_tensor}) {
            require_shape(*vector, {channels.count});
        }
        // What is not read may be an empty tensor, as frameworks pass it.
        const Tensor& used_mean = training ? mean_tensor : running_mean_tensor;
        const Tensor& used_deviation = training ? invstd_tensor : running_var_tensor;
        require_shape(used_mean, {channels.count});
        require_shape(used_deviation, {channels.count});
        require_separate({&gradient_tensor, &scale_tensor, &shift_tensor},
                         {&incoming_tensor, &input_tensor, &weight_tensor, &used_mean, &used_deviation});
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> incoming(incoming_tensor);
            const Input<double> factors(weight_tensor);
            const Input<double> means(used_mean);
            const Input<double> deviations(used_deviation);
            const Output<T> gradient(gradient_tensor);
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
                        sums += spans::products<T>(incoming.data() + i, nullptr, x.data() + i, channels.spatial, mean);
                    });
                    const double product = sums.product * invstd;
                    const double own = training ? sums.own / count : 0;
                    const double slope = training ? invstd * product / count : 0;
                    channels.for_each_row(c, [&](int64_t i) {
                        if (training) {
                            spans::gradient<T>(incoming.data() + i, nullptr, x.data() + i, gradient.data() + i,
                                               channels.spatial, mean, factor, own, slope);
                        } else {
                            spans::scale<T>(incoming.data() + i, gradient.data() + i, channels.spatial, 0, factor, 0);
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
    });
}
