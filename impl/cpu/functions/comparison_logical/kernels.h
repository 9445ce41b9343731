// What comparisons do to elements.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CPU_FUNCTIONS_COMPARISON_LOGICAL_KERNELS_H_
#define DIOPI_CPU_FUNCTIONS_COMPARISON_LOGICAL_KERNELS_H_

#include "diopi_cpu/tensor.h"

namespace diopi::cpu {

// *out = whether all elements are equal.
void equal_elements(bool* out, const Tensor& input_tensor, const Tensor& other_tensor);

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_FUNCTIONS_COMPARISON_LOGICAL_KERNELS_H_
