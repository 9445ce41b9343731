// What the library keeps about tensors: nothing. All of them are in plain memory with strides, format 0.
#include <diopi/functions.h>

#include "diopi_cpu/tensor.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiGetNativeMemoryFormat(diopiContextHandle_t /*ctx*/, diopiConstTensorHandle_t input,
                                                  int64_t* format) {
    return guarded("diopiGetNativeMemoryFormat", [&] {
        require(format != nullptr, "parameter 'format' is null");
        tensor("input", input, kAny);
        *format = 0;
    });
}

DIOPI_API diopiError_t diopiTensorDestructionHook(diopiContextHandle_t /*ctx*/, void* /*ptr*/) { return diopiSuccess; }
