// What diopirt.h tells of a tensor, asked once.
#ifndef DIOPIGEN_CONTRACT_TENSOR_VIEW_H_
#define DIOPIGEN_CONTRACT_TENSOR_VIEW_H_

#include "value.h"

namespace diopigen::contract {

// Of a tensor that is not null. Throws a Failure where the runtime refuses.
TensorView view_of(diopiConstTensorHandle_t handle);

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_TENSOR_VIEW_H_
