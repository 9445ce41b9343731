// A tensor as kernels take it, from what the contract read of it.
#ifndef DIOPI_CORE_TENSOR_OF_H_
#define DIOPI_CORE_TENSOR_OF_H_

#include "diopi_core/tensor.h"
#include "value.h"

namespace diopigen::core {

// Fails for what the library does not support: more than 64 dimensions, a dtype of the interface that it lacks.
Tensor tensor_of(const char* name, const ::diopigen::contract::TensorView& view);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_TENSOR_OF_H_
