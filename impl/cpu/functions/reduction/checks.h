// Checks that all reductions to one output share.
#ifndef DIOPI_CPU_REDUCTION_CHECKS_H_
#define DIOPI_CPU_REDUCTION_CHECKS_H_

#include "diopi_cpu/reduction.h"

namespace diopi::cpu {

inline void check_reduction(const Tensor& out, const Tensor& input, const Rows& rows, KeepDim keep) {
    require_reduced(out, input, rows, keep);
    require_one_device({&out, &input});
    require_no_overlap(out);
    require_disjoint(out, input);
}

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_REDUCTION_CHECKS_H_
