// Index, its gradient, and IndexPut. Where positions repeat, IndexPut without accumulate keeps the last value.
#include <diopi/functions.h>

#include "advanced.h"
#include "positions.h"

using namespace diopi::cpu;

namespace {

void put(const Tensor& target, const Tensor& values, const Advanced& index, bool accumulate) {
    const View view = permuted(target, index.order);
    put_at(view.tensor(), values, index, accumulate);
}

// The values, broadcast to what the index picks.
View broadcast_values(const Tensor& values, const Advanced& index) {
    const auto rank = static_cast<int64_t>(index.shape.size());
    bool fits = values.rank <= rank;
    for (int64_t i = 1; fits && i <= values.rank; ++i) {
        const int64_t size = values.shape[values.rank - i];
        fits = size == 1 || size == index.shape[rank - i];
    }
    if (!fits) {
        fail("parameter 'values' has the shape " + shape_text(values.shape, values.rank) +
             ", which does not broadcast to " + shape_text(index.shape.data(), rank) + ", which the indices pick");
    }
    return expanded(values, index.shape);
}

}  // namespace

DIOPI_API diopiError_t diopiIndex(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t* indices, int64_t nums) {
    return guarded("diopiIndex", ctx, [&] {
        require(out != nullptr, "parameter 'out' is null");
        const Tensor input_tensor = tensor("input", input, kAny);
        const Advanced index = advanced(input_tensor, indices, "nums", nums);
        index.require_one_device(input_tensor);
        const View source = permuted(input_tensor, index.order);
        const Tensor result = new_tensor(ctx, "out", index.shape, input_tensor.dtype, input_tensor);
        pick_at(result, source.tensor(), index);
        *out = result.handle;
    });
}

DIOPI_API diopiError_t diopiIndexBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                          diopiTensorHandle_t zeros_like_input, diopiConstTensorHandle_t* indices,
                                          int64_t nums, diopiConstTensorHandle_t grad_output) {
    return guarded("diopiIndexBackward", ctx, [&] {
        const Tensor result = tensor("grad_input", grad_input, kFloating | kComplex);
        const Tensor zeros = tensor("zeros_like_input", zeros_like_input, kFloating | kComplex);
        const Tensor gradient = tensor("grad_output", grad_output, kFloating | kComplex);
        require_same_dtype(result, zeros);
        require_same_dtype(gradient, zeros);
        require_same_shape(result, zeros);
        const Advanced index = advanced(zeros, indices, "nums", nums);
        require_shape(gradient, index.shape);
        require_one_device({&result, &zeros, &gradient});
        require_no_overlap(result);
        require_no_overlap(result, zeros);
        require_disjoint(result, gradient);
        index.require_apart(result);
        copy_unless_same(result, zeros);
        put(result, gradient, index, true);
    });
}

DIOPI_API diopiError_t diopiIndexPut(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                     diopiConstTensorHandle_t values, diopiConstTensorHandle_t* indices,
                                     int64_t indices_counts, bool accumulate) {
    return guarded("diopiIndexPut", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor values_tensor = tensor("values", values, kAny);
        require_same_dtype(out_tensor, input_tensor);
        require_same_dtype(values_tensor, input_tensor);
        require_same_shape(out_tensor, input_tensor);
        const Advanced index = advanced(input_tensor, indices, "indices_counts", indices_counts);
        const View source = broadcast_values(values_tensor, index);
        require_one_device({&out_tensor, &input_tensor, &values_tensor});
        require_no_overlap(out_tensor);
        require_no_overlap(out_tensor, input_tensor);
        require_disjoint(out_tensor, values_tensor);
        index.require_apart(out_tensor);
        copy_unless_same(out_tensor, input_tensor);
        put(out_tensor, source.tensor(), index, accumulate);
    });
}

DIOPI_API diopiError_t diopiIndexPutInp(diopiContextHandle_t ctx, diopiTensorHandle_t input,
                                        diopiConstTensorHandle_t values, diopiConstTensorHandle_t* indices,
                                        int64_t indices_counts, bool accumulate) {
    return guarded("diopiIndexPutInp", ctx, [&] {
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor values_tensor = tensor("values", values, kAny);
        require_same_dtype(values_tensor, input_tensor);
        const Advanced index = advanced(input_tensor, indices, "indices_counts", indices_counts);
        const View source = broadcast_values(values_tensor, index);
        require_one_device({&input_tensor, &values_tensor});
        require_no_overlap(input_tensor);
        require_disjoint(input_tensor, values_tensor);
        index.require_apart(input_tensor);
        put(input_tensor, source.tensor(), index, accumulate);
    });
}
