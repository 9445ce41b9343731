// The tensors of one call, each asked once for what the call has to know.
#ifndef DIOPIGEN_CONTRACT_CALL_TENSORS_H_
#define DIOPIGEN_CONTRACT_CALL_TENSORS_H_

#include <vector>

#include "operand.h"
#include "value.h"

namespace diopigen::contract {

struct CallTensor {
    const Operand* operand = nullptr;
    TensorView view;  // without a handle where the caller gave null
};

// In the order of the operands, members of arrays one after the other. A null array has none.
using CallTensors = std::vector<CallTensor>;

// Replaces `tensors` by those of the operands; its memory is kept. Throws a Failure where the runtime refuses.
void read(Operands operands, CallTensors& tensors);

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_CALL_TENSORS_H_
