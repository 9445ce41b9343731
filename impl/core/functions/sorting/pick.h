// What Sort and Topk need of memory: they write values and indices while they still read the input.
#ifndef DIOPI_CORE_PICK_H_
#define DIOPI_CORE_PICK_H_

#include "diopi_core/tensor.h"

namespace diopigen::core {

inline void require_picks_apart(const Tensor& values, const Tensor& indices, const Tensor& input) {
    require_disjoint(values, input);
    require_disjoint(indices, input);
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_PICK_H_
