// What operators over lists do to one tensor.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_FOREACH_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_FOREACH_KERNELS_H_

#include "diopi_core/tensor.h"

namespace diopi::core {

// The norm of all elements, of order `order`.
void norm_of_all(const Tensor& result_tensor, const Tensor& vector, double order);

}  // namespace diopi::core

#endif  // DIOPI_CORE_FUNCTIONS_FOREACH_KERNELS_H_
