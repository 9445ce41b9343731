// LayerNorm and RMSNorm: statistics over the trailing dimensions, in double.
#include <diopi/functions.h>
#include <diopi/functions_ext.h>

#include <cmath>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/reduction.h"

using namespace diopi::cpu;

namespace {

struct Trailing {
    std::vector<int64_t> statistics_shape;
    int64_t rows = 1;
    int64_t length = 1;
};

Trailing trailing(const Tensor& input, diopiSize_t normalized_shape) {
    require_sizes("normalized_shape", normalized_shape);
    require(normalized_shape.len > 0, "C1: normalized_shape has at least one entry");
    const int64_t outer = input.rank - normalized_shape.len;
    require(outer >= 0, "C2: the trailing sizes of input are normalized_shape");
    Trailing result;
    for (int64_t i = 0; i < input.rank; ++i) {
        if (i >= outer) {
            require(input.shape[i] == normalized_shape.data[i - outer],
                    "C2: the trailing sizes of input are normalized_shape");
        }
        (i < outer ? result.rows : result.length) *= input.shape[i];
        result.statistics_shape.push_back(i < outer ? input.shape[i] : 1);
    }
    return result;
}

void check(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias, diopiSize_t shape) {
    require_same_dtype(out, input);
    require_same_shape(out, input);
    require_no_overlap(out);
    require_no_overlap(out, input);
    for (const Tensor* factor : {&weight, &bias}) {
        require_same_dtype(*factor, input);
        require_shape(*factor, shape);
        require_disjoint(out, *factor);
    }
    require_one_device({&out, &input, &weight, &bias});
}

void check_statistics(const Tensor& statistics, const Tensor& out, const Tensor& input, const Trailing& parts) {
    require_shape(statistics, parts.statistics_shape);
    require_no_overlap(statistics);
    require_disjoint(statistics, out);
    require_disjoint(statistics, input);
    require_one_device({&out, &statistics});
}

}  // namespace

DIOPI_API diopiError_t diopiLayerNorm(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                      diopiTensorHandle_t save_mean, diopiTensorHandle_t save_invstd,
                                      diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                      diopiConstTensorHandle_t bias, diopiSize_t normalized_shape, double eps) {
    return guarded("diopiLayerNorm", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor mean_tensor = tensor("save_mean", save_mean, kFloat32 | kFloat64);
        const Tensor invstd_tensor = tensor("save_invstd", save_invstd, kFloat32 | kFloat64);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const Trailing parts = trailing(input_tensor, normalized_shape);
        check(out_tensor, input_tensor, weight_tensor, bias_tensor, normalized_shape);
        check_statistics(mean_tensor, out_tensor, input_tensor, parts);
        check_statistics(invstd_tensor, out_tensor, input_tensor, parts);
        require_disjoint(mean_tensor, invstd_tensor);
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> scale(weight_tensor);
            const Input<T> shift(bias_tensor);
            const Output<T> y(out_tensor);
            const Output<double> means(mean_tensor);
            const Output<double> deviations(invstd_tensor);
            parallel_for(parts.rows, row_grain(parts.length), [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                    const T* from = x.data() + row * parts.length;
                    T* to = y.data() + row * parts.length;
                    double sum = 0;
                    for (int64_t i = 0; i < parts.length; ++i) {
                        sum += from[i];
                    }
                    const double mean = sum / static_cast<double>(parts.length);
                    double squares = 0;
                    for (int64_t i = 0; i < parts.length; ++i) {
                        squares += (from[i] - mean) * (from[i] - mean);
                    }
                    const double invstd = 1 / std::sqrt(squares / static_cast<double>(parts.length) + eps);
                    for (int64_t i = 0; i < parts.length; ++i) {
                        const double normal = (from[i] - mean) * invstd;
                        to[i] = static_cast<T>(normal * (scale ? scale[i] : T(1)) + (shift ? shift[i] : T(0)));
                    }
                    means[row] = mean;
                    deviations[row] = invstd;
                }
            });
            y.store();
            means.store();
            deviations.store();
        });
    });
}

DIOPI_API diopiError_t diopiRMSNorm(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiTensorHandle_t inv_rms,
                                    diopiConstTensorHandle_t input, diopiSize_t normalized_shape,
                                    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias, double eps) {
    return guarded("diopiRMSNorm", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor inv_rms_tensor = tensor("inv_rms", inv_rms, kFloat32 | kFloat64);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        const Trailing parts = trailing(input_tensor, normalized_shape);
        check(out_tensor, input_tensor, weight_tensor, bias_tensor, normalized_shape);
        check_statistics(inv_rms_tensor, out_tensor, input_tensor, parts);
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> scale(weight_tensor);
            const Input<T> shift(bias_tensor);
            const Output<T> y(out_tensor);
            const Output<double> inverses(inv_rms_tensor);
            parallel_for(parts.rows, row_grain(parts.length), [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                    const T* from = x.data() + row * parts.length;
                    T* to = y.data() + row * parts.length;
                    double squares = 0;
                    for (int64_t i = 0; i < parts.length; ++i) {
                        squares += static_cast<double>(from[i]) * from[i];
                    }
                    const double inverse = 1 / std::sqrt(squares / static_cast<double>(parts.length) + eps);
                    for (int64_t i = 0; i < parts.length; ++i) {
                        to[i] =
                            static_cast<T>(from[i] * inverse * (scale ? scale[i] : T(1)) + (shift ? shift[i] : T(0)));
                    }
                    inverses[row] = inverse;
                }
            });
            y.store();
            inverses.store();
        });
    });
}
