// A tensor as kernels take it, from what the contract read of it.
#ifndef DIOPI_CPU_TENSOR_OF_H_
#define DIOPI_CPU_TENSOR_OF_H_

#include "diopi_cpu/tensor.h"
#include "value.h"

namespace diopi::cpu {

// Fails for what the library does not support: more than 64 dimensions, a dtype of the interface that it lacks.
Tensor tensor_of(const char* name, const ::diopigen::contract::TensorView& view);

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_TENSOR_OF_H_
