// Equal: whether two tensors have one shape and equal elements.
#include <diopi/functions.h>

#include <atomic>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/threads.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiEqual(diopiContextHandle_t /*ctx*/, bool* out, diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t other) {
    return guarded("diopiEqual", [&] {
        require(out != nullptr, "parameter 'out' is null");
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor other_tensor = tensor("other", other, kAny);
        require_same_dtype(other_tensor, input_tensor);
        require_one_device({&input_tensor, &other_tensor});
        if (!is_same_shape(input_tensor, other_tensor)) {
            *out = false;
            return;
        }
        dispatch_compute<kAny>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> left(input_tensor);
            const Input<T> right(other_tensor);
            std::atomic<bool> differs{false};
            parallel_for(input_tensor.numel, 65536, [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                    if (left[i] != right[i]) {
                        differs = true;
                        return;
                    }
                }
            });
            *out = !differs;
        });
    });
}
