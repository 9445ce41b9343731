// What Sort and Topk check alike.
#ifndef DIOPI_CPU_PICK_H_
#define DIOPI_CPU_PICK_H_

#include "diopi_cpu/tensor.h"

namespace diopi::cpu {

inline void check_pick(const Tensor& values, const Tensor& indices, const Tensor& input) {
    require_same_dtype(values, input);
    require_one_device({&input, &values, &indices});
    for (const Tensor* written : {&values, &indices}) {
        require_no_overlap(*written);
        require_disjoint(*written, input);
    }
    require_disjoint(values, indices);
}

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_PICK_H_
