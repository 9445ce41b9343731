// Softmax and LogSoftmax with their gradients. The maximum is subtracted before exponentials are taken; sums are kept
// in double. Along the last dimension whole rows are taken, along others strips of columns.
#include <diopi/functions.h>

#include "softmax_rows.h"

using namespace diopi::cpu;

namespace {

// Applies `Kernel` along `dim`.
template <typename Kernel, int kSources>
void along(const Tensor& out, const Tensor* const (&sources)[kSources], int64_t dim) {
    for (const Tensor* source : sources) {
        require_same_dtype(out, *source);
        require_same_shape(*source, out);
        require_one_device({&out, source});
        require_no_overlap(out, *source);
    }
    require_no_overlap(out);
    const Around place = around(shape_at_least_1d(out), dimension("dim", dim, out.rank));
    dispatch_compute<kFloating>(out.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> a(*sources[0]);
        const Input<T> b(kSources > 1 ? *sources[kSources - 1] : Tensor());
        const Output<T> result(out);
        const int64_t size = place.size;
        const T* last = b ? b.data() : a.data();
        if (size > 0 && place.inner == 1) {
            parallel_for(place.outer, row_grain(4 * size), [&](int64_t begin, int64_t end) {
                const int64_t first = begin * size;
                Kernel::rows(result.data() + first, a.data() + first, last + first, size, end - begin);
            });
        } else if (size > 0) {
            const int64_t strips = (place.inner + kSoftmaxWidth - 1) / kSoftmaxWidth;
            const int64_t width = std::min(place.inner, kSoftmaxWidth);
            parallel_for(place.outer * strips, row_grain(4 * size * width), [&](int64_t begin, int64_t end) {
                for (int64_t part = begin; part < end; ++part) {
                    const int64_t column = part % strips * kSoftmaxWidth;
                    const int64_t first = part / strips * size * place.inner + column;
                    Kernel::columns(result.data() + first, a.data() + first, last + first, place.inner, size,
                                    std::min(kSoftmaxWidth, place.inner - column));
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
        along<Softmax>(out_tensor, {&input_tensor}, dim);
    });
}

DIOPI_API diopiError_t diopiLogSoftmax(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                       diopiConstTensorHandle_t input, int64_t dim) {
    return guarded("diopiLogSoftmax", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        along<LogSoftmax>(out_tensor, {&input_tensor}, dim);
    });
}

DIOPI_API diopiError_t diopiSoftmaxBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output,
                                            int64_t dim) {
    return guarded("diopiSoftmaxBackward", [&] {
        const Tensor result_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor grad_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor output_tensor = tensor("output", output, kFloating);
        along<SoftmaxGradient>(result_tensor, {&grad_tensor, &output_tensor}, dim);
    });
}

DIOPI_API diopiError_t diopiLogSoftmaxBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output,
                                               int64_t dim) {
    return guarded("diopiLogSoftmaxBackward", [&] {
        const Tensor result_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor grad_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor output_tensor = tensor("output", output, kFloating);
        along<LogSoftmaxGradient>(result_tensor, {&grad_tensor, &output_tensor}, dim);
    });
}
