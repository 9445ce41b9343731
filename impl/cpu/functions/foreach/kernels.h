// What operators over lists do to one tensor.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CPU_FUNCTIONS_FOREACH_KERNELS_H_
#define DIOPI_CPU_FUNCTIONS_FOREACH_KERNELS_H_

#include "diopi_cpu/tensor.h"

namespace diopi::cpu {

// The norm of all elements, of order `order`.
void norm_of_all(const Tensor& result_tensor, const Tensor& vector, double order);

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_FUNCTIONS_FOREACH_KERNELS_H_
