// Nonzero and MaskedSelect: outputs whose size follows from the data, allocated through the host.
#include <diopi/functions.h>

#include "diopi_cpu/dense.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiNonzero(diopiContextHandle_t ctx, diopiTensorHandle_t* out,
                                    diopiConstTensorHandle_t input) {
    return guarded("diopiNonzero", [&] {
        require(out != nullptr, "parameter 'out' is null");
        const Tensor input_tensor = tensor("input", input, kAny);
        const Input<Bool> truths(input_tensor);
        int64_t count = 0;
        for (int64_t i = 0; i < input_tensor.numel; ++i) {
            count += truths[i].value;
        }
        const Tensor result = new_tensor(ctx, "out", {count, input_tensor.rank}, Dtype::kInt64, input_tensor);
        const Output<Int64> places(result);
        int64_t row = 0;
        for (int64_t i = 0; i < input_tensor.numel; ++i) {
            if (truths[i].value != 0) {
                int64_t rest = i;
                for (int64_t d = input_tensor.rank; d-- > 0;) {
                    places[row * input_tensor.rank + d] = Int64(rest % input_tensor.shape[d]);
                    rest /= input_tensor.shape[d];
                }
                ++row;
            }
        }
        places.store();
        *out = result.handle;
    });
}

DIOPI_API diopiError_t diopiMaskedSelect(diopiContextHandle_t ctx, diopiTensorHandle_t* out,
                                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask) {
    return guarded("diopiMaskedSelect", [&] {
        require(out != nullptr, "parameter 'out' is null");
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor mask_tensor = tensor("mask", mask, kBool);
        require_one_device({&input_tensor, &mask_tensor});
        const std::vector<int64_t> shape = broadcast_shape(input_tensor, mask_tensor);
        const View input_view = expanded(input_tensor, shape);
        const View mask_view = expanded(mask_tensor, shape);
        const Input<Bool> chosen(mask_view.tensor());
        const int64_t numel = mask_view.tensor().numel;
        int64_t count = 0;
        for (int64_t i = 0; i < numel; ++i) {
            count += chosen[i].value;
        }
        const Tensor result = new_tensor(ctx, "out", {count}, input_tensor.dtype, input_tensor);
        dispatch<kAny>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> source(input_view.tensor());
            const Output<T> target(result);
            int64_t at = 0;
            for (int64_t i = 0; i < numel; ++i) {
                if (chosen[i].value != 0) {
                    target[at++] = source[i];
                }
            }
            target.store();
        });
        *out = result.handle;
    });
}
