// BatchNorm and GroupNorm forward: statistics per channel or per group, in double.
#include <diopi/functions.h>

#include <cmath>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/threads.h"

using namespace diopi::cpu;

namespace {

int64_t spatial_size(const Tensor& input) {
    int64_t size = 1;
    for (int64_t i = 2; i < input.rank; ++i) {
        size *= input.shape[i];
    }
    return size;
}

void check_output(const Tensor& out, const Tensor& input) {
    require_same_dtype(out, input);
    require_same_shape(out, input);
    require_no_overlap(out);
    require_no_overlap(out, input);
    require_one_device({&out, &input});
}

}  // namespace

DIOPI_API diopiError_t diopiBatchNorm(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                      diopiTensorHandle_t save_mean, diopiTensorHandle_t save_invstd,
                                      diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                      diopiConstTensorHandle_t bias, diopiTensorHandle_t running_mean,
                                      diopiTensorHandle_t running_var, bool training, double momentum, double eps) {
    return guarded("diopiBatchNorm", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor mean_tensor = tensor("save_mean", save_mean, kFloat32 | kFloat64);
        const Tensor invstd_tensor = tensor("save_invstd", save_invstd, kFloat32 | kFloat64);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const Tensor running_mean_tensor = optional_tensor("running_mean", running_mean, kFloating);
        const Tensor running_var_tensor = optional_tensor("running_var", running_var, kFloating);
        require_rank(input_tensor, 2);
        check_output(out_tensor, input_tensor);
        const int64_t batch = input_tensor.shape[0];
        const int64_t channels = input_tensor.shape[1];
        const int64_t spatial = spatial_size(input_tensor);
        const Tensor* const own[] = {&mean_tensor, &invstd_tensor,       &weight_tensor,
                                     &bias_tensor, &running_mean_tensor, &running_var_tensor};
        for (const Tensor* vector : own) {
            require_shape(*vector, {channels});
            require_one_device({&out_tensor, vector});
            require_disjoint(out_tensor, *vector);
            for (const Tensor* written : {&mean_tensor, &invstd_tensor, &running_mean_tensor, &running_var_tensor}) {
                if (written != vector) {
                    require_disjoint(*written, *vector);
                }
            }
        }
        for (const Tensor* written : {&mean_tensor, &invstd_tensor, &running_mean_tensor, &running_var_tensor}) {
            require_no_overlap(*written);
            require_disjoint(*written, input_tensor);
        }
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
            Buffer updates;
            updates.allocate(2 * channels * static_cast<int64_t>(sizeof(double)));
            auto* new_mean = static_cast<double*>(updates.data());
            double* new_variance = new_mean + channels;
            const auto count = static_cast<double>(batch * spatial);
            parallel_for(channels, 1 + 16384 / (batch * spatial + 1), [&](int64_t begin, int64_t end) {
                for (int64_t c = begin; c < end; ++c) {
                    const auto for_each = [&](auto&& visit) {
                        for (int64_t n = 0; n < batch; ++n) {
                            const int64_t first = (n * channels + c) * spatial;
                            for (int64_t i = first; i < first + spatial; ++i) {
                                visit(i);
                            }
                        }
                    };
                    double mean = has_running ? old_mean[c] : 0;
                    double variance = has_running ? old_variance[c] : 0;
                    if (training) {
                        double sum = 0;
                        for_each([&](int64_t i) { sum += x[i]; });
                        mean = sum / count;
                        double squares = 0;
                        for_each([&](int64_t i) { squares += (x[i] - mean) * (x[i] - mean); });
                        variance = squares / count;
                        if (has_running) {
                            new_mean[c] = (1 - momentum) * old_mean[c] + momentum * mean;
                            new_variance[c] = (1 - momentum) * old_variance[c] + momentum * squares / (count - 1);
                        }
                    }
                    const double invstd = 1 / std::sqrt(variance + eps);
                    const double factor = invstd * (scale ? scale[c] : 1);
                    const double offset = shift ? shift[c] : 0;
                    for_each([&](int64_t i) { y[i] = static_cast<T>((x[i] - mean) * factor + offset); });
                    means[c] = mean;
                    deviations[c] = invstd;
                }
            });
            y.store();
            means.store();
            deviations.store();
            if (training && has_running) {
                detail::store_dense(running_mean_tensor, Dtype::kFloat64, new_mean);
                detail::store_dense(running_var_tensor, Dtype::kFloat64, new_variance);
            }
        });
    });
}

DIOPI_API diopiError_t diopiGroupNorm(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                      diopiTensorHandle_t save_mean, diopiTensorHandle_t save_invstd,
                                      diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                      diopiConstTensorHandle_t bias, int64_t num_groups, double eps) {
    return guarded("diopiGroupNorm", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor mean_tensor = tensor("save_mean", save_mean, kFloat32 | kFloat64);
        const Tensor invstd_tensor = tensor("save_invstd", save_invstd, kFloat32 | kFloat64);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        require_rank(input_tensor, 2);
        check_output(out_tensor, input_tensor);
        const int64_t batch = input_tensor.shape[0];
        const int64_t channels = input_tensor.shape[1];
        const int64_t spatial = spatial_size(input_tensor);
        require(num_groups > 0, "C1: num_groups is positive");
        require(channels % num_groups == 0, "C2: num_groups divides the number of channels");
        for (const Tensor* factor : {&weight_tensor, &bias_tensor}) {
            require_same_dtype(*factor, input_tensor);
            require_shape(*factor, {channels});
            require_disjoint(out_tensor, *factor);
            require_one_device({&out_tensor, factor});
        }
        for (const Tensor* statistics : {&mean_tensor, &invstd_tensor}) {
            require_shape(*statistics, {batch, num_groups});
            require_no_overlap(*statistics);
            require_disjoint(*statistics, out_tensor);
            require_disjoint(*statistics, input_tensor);
            require_one_device({&out_tensor, statistics});
        }
        require_disjoint(mean_tensor, invstd_tensor);
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> scale(weight_tensor);
            const Input<T> shift(bias_tensor);
            const Output<T> y(out_tensor);
            const Output<double> means(mean_tensor);
            const Output<double> deviations(invstd_tensor);
            const int64_t per_group = channels / num_groups;
            const int64_t length = per_group * spatial;
            parallel_for(batch * num_groups, 1 + 16384 / (length + 1), [&](int64_t begin, int64_t end) {
                for (int64_t group = begin; group < end; ++group) {
                    const T* from = x.data() + group * length;
                    double sum = 0;
                    for (int64_t i = 0; i < length; ++i) {
                        sum += from[i];
                    }
                    const double mean = sum / static_cast<double>(length);
                    double squares = 0;
                    for (int64_t i = 0; i < length; ++i) {
                        squares += (from[i] - mean) * (from[i] - mean);
                    }
                    const double invstd = 1 / std::sqrt(squares / static_cast<double>(length) + eps);
                    for (int64_t i = 0; i < length; ++i) {
                        const int64_t c = group % num_groups * per_group + i / spatial;
                        const double normal = (from[i] - mean) * invstd;
                        y[group * length + i] =
                            static_cast<T>(normal * (scale ? scale[c] : T(1)) + (shift ? shift[c] : T(0)));
                    }
                    means[group] = mean;
                    deviations[group] = invstd;
                }
            });
            y.store();
            means.store();
            deviations.store();
        });
    });
}
