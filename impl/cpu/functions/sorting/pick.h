// What Sort and Topk need of memory: they write values and indices while they still read the input.
#ifndef DIOPI_CPU_PICK_H_
#define DIOPI_CPU_PICK_H_

#include "diopi_cpu/tensor.h"

namespace diopi::cpu {

inline void require_picks_apart(const Tensor& values, const Tensor& indices, const Tensor& input) {
    require_disjoint(values, input);
    require_disjoint(indices, input);
}

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_PICK_H_
