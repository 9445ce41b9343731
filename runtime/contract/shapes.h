// Shapes of tensors. Each function returns false where the arguments have no such shape.
#ifndef DIOPIGEN_CONTRACT_SHAPES_H_
#define DIOPIGEN_CONTRACT_SHAPES_H_

#include "value.h"

namespace diopigen::contract {

// A dimension counted from the front; a 0-d tensor counts as 1-d.
bool axis_of(int64_t dim, int64_t rank, int64_t& axis);
bool broadcast(const Sizes& first, const Sizes& second, Sizes& result);

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_SHAPES_H_
