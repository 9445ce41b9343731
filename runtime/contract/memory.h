// Which bytes tensors share. Tensors are asked as they are strided, not as what is between their first and last
// element.
#ifndef DIOPIGEN_CONTRACT_MEMORY_H_
#define DIOPIGEN_CONTRACT_MEMORY_H_

#include <optional>

#include "call_tensors.h"
#include "failure.h"
#include "operand.h"
#include "table.h"

namespace diopigen::contract {

// Whether two elements of one tensor have a byte in common.
bool overlaps_itself(const TensorView& tensor);
// Whether an element of one has a byte in common with an element of the other.
bool shares_memory(const TensorView& a, const TensorView& b);
// Whether both are the same elements in the same order.
bool has_same_elements(const TensorView& a, const TensorView& b);

// The first violation of: no result has elements that overlap; a result may be written over an operand (the same
// elements), but not over a part of one; results share no memory with one another, unless the spec lets two of them be
// one tensor (`shares`). `rules` are those of the operands.
std::optional<Failure> overlap(const Parameter* rules, Operands operands, const CallTensors& tensors);

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_MEMORY_H_
