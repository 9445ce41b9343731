// The operands of calls, which contracts describe (runtime/contract), by their names in this library.
#ifndef DIOPIGEN_DISPATCH_OPERANDS_H_
#define DIOPIGEN_DISPATCH_OPERANDS_H_

#include "contracts.h"
#include "failure.h"
#include "operand.h"
#include "tensor.h"
#include "text.h"

namespace diopigen::dispatch {

using contract::describe;
using contract::Direction;
using contract::inspect;
using contract::is_sparse;
using contract::Kind;
using contract::Operand;
using contract::Operands;
using contract::TensorInfo;
using contract::text_of;

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_OPERANDS_H_
