// Nonzero and MaskedSelect: outputs whose size follows from the data, allocated through the host.
#include <diopi/functions.h>

#include "chosen.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiNonzero(diopiContextHandle_t ctx, diopiTensorHandle_t* out,
                                    diopiConstTensorHandle_t input) {
    return guarded("diopiNonzero", ctx, [&] {
        require(out != nullptr, "parameter 'out' is null");
        const Tensor input_tensor = tensor("input", input, kAny);
        // What is no truth value yet becomes one: its bytes say the same.
        const bool is_truth = input_tensor.dtype == Dtype::kBool || input_tensor.dtype == Dtype::kUint8;
        Buffer truths;
        Tensor source = input_tensor;
        const std::vector<int64_t> shape = shape_of(input_tensor);
        std::vector<int64_t> strides(shape.size());
        if (!is_truth) {
            truths.allocate(input_tensor.numel);
            source.data = truths.data();
            source.dtype = Dtype::kBool;
            source.strides = strides.data();
            for (int64_t d = input_tensor.rank, step = 1; d-- > 0; step *= shape[d]) {
                strides[d] = step;
            }
            copy_elements(source, input_tensor);
        }
        const Chosen chosen(source, shape);
        const Tensor result = new_tensor(ctx, "out", {chosen.count(), input_tensor.rank}, Dtype::kInt64, input_tensor);
        chosen.store_coordinates(result, shape);
        *out = result.handle;
    });
}

DIOPI_API diopiError_t diopiMaskedSelect(diopiContextHandle_t ctx, diopiTensorHandle_t* out,
                                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask) {
    return guarded("diopiMaskedSelect", ctx, [&] {
        require(out != nullptr, "parameter 'out' is null");
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor mask_tensor = tensor("mask", mask, kBool);
        require_one_device({&input_tensor, &mask_tensor});
        const std::vector<int64_t> shape = broadcast_shape(input_tensor, mask_tensor);
        const View input_view = expanded(input_tensor, shape);
        const Chosen chosen(mask_tensor, shape);
        const Tensor result = new_tensor(ctx, "out", {chosen.count()}, input_tensor.dtype, input_tensor);
        chosen.take(result, input_view.tensor());
        *out = result.handle;
    });
}
