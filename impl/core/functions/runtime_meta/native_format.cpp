// What the library keeps about tensors: nothing. All of them are in plain memory with strides, format 0.
#include "runtime_meta.h"

void diopigen::entry::get_native_memory_format(const GetNativeMemoryFormatArgs& args) { *args.format = 0; }

void diopigen::entry::tensor_destruction_hook(const TensorDestructionHookArgs& /*args*/) {}
