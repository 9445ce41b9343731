// What the library keeps about tensors: nothing. All of them are in plain memory with strides, format 0.
#include "runtime_meta.h"

void diopi::kernels::get_native_memory_format(const GetNativeMemoryFormatArgs& args) { *args.format = 0; }

void diopi::kernels::tensor_destruction_hook(const TensorDestructionHookArgs& /*args*/) {}
