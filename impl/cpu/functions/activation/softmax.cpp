// Softmax and LogSoftmax with their gradients. The maximum is subtracted before exponentials are taken; sums are kept
// in double.
#include <diopi/functions.h>

#include <algorithm>
#include <cmath>

#include "diopi_cpu/math.h"
#include "diopi_cpu/reduction.h"

using namespace diopi::cpu;

namespace {

template <typename T>
T largest(const T* values, int64_t length) {
    T result = values[0];
    for (int64_t i = 1; i < length; ++i) {
        result = maximum(result, values[i]);
    }
    return result;
}

// Calls `row(target, sources, length)` for every row along `dim`. The arrays hold the compute type.
template <int kSources, typename Row>
void along(const Tensor& out, const Tensor* const (&sources)[kSources], int64_t dim, Row&& row) {
    for (const Tensor* source : sources) {
        require_same_dtype(out, *source);
        require_same_shape(*source, out);
        require_one_device({&out, source});
        require_no_overlap(out, *source);
    }
    require_no_overlap(out);
    const int64_t at = dimension("dim", dim, out.rank);
    const Rows rows = rows_over(out, "dim", &at);
    const View target = permuted(out, rows.order());
    const View first = permuted(*sources[0], rows.order());
    const View last = permuted(*sources[kSources - 1], rows.order());
    dispatch_compute<kFloating>(out.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> a(first.tensor());
        const Input<T> b(last.tensor());
        const Output<T> result(target.tensor());
        if (rows.length > 0) {
            parallel_for(rows.count, row_grain(rows.length), [&](int64_t begin, int64_t end) {
                for (int64_t k = begin; k < end; ++k) {
                    const int64_t offset = k * rows.length;
                    row(result.data() + offset, a.data() + offset, b.data() + offset, rows.length);
                }
            });
        }
        result.store();
    });
}

}  // namespace

DIOPI_API diopiError_t diopiSoftmax(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                    diopiConstTensorHandle_t input, int64_t dim) {
    return guarded("diopiSoftmax", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        along<1>(out_tensor, {&input_tensor}, dim, [](auto* result, const auto* x, const auto*, int64_t length) {
            using T = std::decay_t<decltype(*x)>;
            const T top = largest(x, length);
            double sum = 0;
            for (int64_t i = 0; i < length; ++i) {
                result[i] = std::exp(x[i] - top);
                sum += result[i];
            }
            for (int64_t i = 0; i < length; ++i) {
                result[i] = static_cast<T>(result[i] / sum);
            }
        });
    });
}

DIOPI_API diopiError_t diopiLogSoftmax(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                       diopiConstTensorHandle_t input, int64_t dim) {
    return guarded("diopiLogSoftmax", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        along<1>(out_tensor, {&input_tensor}, dim, [](auto* result, const auto* x, const auto*, int64_t length) {
            using T = std::decay_t<decltype(*x)>;
            const T top = largest(x, length);
            double sum = 0;
            for (int64_t i = 0; i < length; ++i) {
                sum += std::exp(x[i] - top);
            }
            const double shift = std::log(sum);
            for (int64_t i = 0; i < length; ++i) {
                result[i] = static_cast<T>((x[i] - top) - shift);
            }
        });
    });
}

DIOPI_API diopiError_t diopiSoftmaxBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output,
                                            int64_t dim) {
    return guarded("diopiSoftmaxBackward", [&] {
        const Tensor result_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor grad_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor output_tensor = tensor("output", output, kFloating);
        along<2>(result_tensor, {&grad_tensor, &output_tensor}, dim,
                 [](auto* result, const auto* grad, const auto* y, int64_t length) {
                     using T = std::decay_t<decltype(*y)>;
                     double sum = 0;
                     for (int64_t i = 0; i < length; ++i) {
                         sum += static_cast<double>(grad[i]) * y[i];
                     }
                     for (int64_t i = 0; i < length; ++i) {
                         result[i] = static_cast<T>((grad[i] - sum) * y[i]);
                     }
                 });
    });
}

DIOPI_API diopiError_t diopiLogSoftmaxBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output,
                                               int64_t dim) {
    return guarded("diopiLogSoftmaxBackward", [&] {
        const Tensor result_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor grad_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor output_tensor = tensor("output", output, kFloating);
        along<2>(result_tensor, {&grad_tensor, &output_tensor}, dim,
                 [](auto* result, const auto* grad, const auto* y, int64_t length) {
                     using T = std::decay_t<decltype(*y)>;
                     double sum = 0;
                     for (int64_t i = 0; i < length; ++i) {
                         sum += grad[i];
                     }
                     for (int64_t i = 0; i < length; ++i) {
                         result[i] = static_cast<T>(grad[i] - std::exp(static_cast<double>(y[i])) * sum);
                     }
                 });
    });
}
