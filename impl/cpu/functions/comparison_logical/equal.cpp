// Equal: whether two tensors have one shape and equal elements.
#include <diopi/functions.h>

#include <atomic>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/threads.h"
#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiEqual(diopiContextHandle_t ctx, bool* out, diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t other) {
    return guarded("diopiEqual", ctx, [&] {
        require(out != nullptr, "parameter 'out' is null");
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor other_tensor = tensor("other", other, kAny);
        require_one_device({&input_tensor, &other_tensor});
        if (!is_same_shape(input_tensor, other_tensor)) {
            *out = false;
            return;
        }
        equal_elements(out, input_tensor, other_tensor);
    });
}
