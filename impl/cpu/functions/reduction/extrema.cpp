// Amax and Argmax. NaN counts as larger than every number; Argmax gives the first of several equal elements.
#include <diopi/functions.h>

#include "diopi_cpu/math.h"
#include "diopi_cpu/reduction.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiAmax(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t self,
                                 diopiSize_t dim, bool keepdim) {
    return guarded("diopiAmax", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor self_tensor = tensor("self", self, kNumber | kBool);
        const Rows rows = rows_over(self_tensor, "dim", dim);
        require_same_dtype(out_tensor, self_tensor);
        require_reduced(out_tensor, self_tensor, rows, keepdim ? KeepDim::kYes : KeepDim::kNo);
        require(rows.length > 0 || rows.count == 0, "C3: every reduced dimension has a size of at least 1");
        require_one_device({&out_tensor, &self_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, self_tensor);
        const View view = permuted(self_tensor, rows.order());
        dispatch_compute<kNumber | kBool>(self_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> data(view.tensor());
            const Output<T> result(out_tensor);
            parallel_for(rows.count, row_grain(rows.length), [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                    const T* values = data.data() + row * rows.length;
                    T largest = values[0];
                    for (int64_t i = 1; i < rows.length; ++i) {
                        largest = maximum(largest, values[i]);
                    }
                    result[row] = largest;
                }
            });
            result.store();
        });
    });
}

DIOPI_API diopiError_t diopiArgmax(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t input, const int64_t* dim, bool keepdim) {
    return guarded("diopiArgmax", [&] {
        const Tensor out_tensor = tensor("out", out, kIndex);
        const Tensor input_tensor = tensor("input", input, kNumber);
        const Rows rows = rows_over(input_tensor, "dim", dim);
        require_reduced(out_tensor, input_tensor, rows, keepdim ? KeepDim::kYes : KeepDim::kNo);
        require(rows.length > 0, "C2: size(input, dim) is at least 1, or numel(input) where dim is null");
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        const View view = permuted(input_tensor, rows.order());
        dispatch_compute<kNumber>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> data(view.tensor());
            const Output<Int64> result(out_tensor);
            parallel_for(rows.count, row_grain(rows.length), [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                    const T* values = data.data() + row * rows.length;
                    int64_t best = 0;
                    for (int64_t i = 1; i < rows.length && !isnan(values[best]); ++i) {
                        best = values[i] > values[best] || isnan(values[i]) ? i : best;
                    }
                    result[row] = Int64(best);
                }
            });
            result.store();
        });
    });
}
