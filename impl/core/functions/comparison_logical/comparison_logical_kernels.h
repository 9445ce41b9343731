// What comparisons do to elements.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_COMPARISON_LOGICAL_COMPARISON_LOGICAL_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_COMPARISON_LOGICAL_COMPARISON_LOGICAL_KERNELS_H_

#include "diopi_core/tensor.h"

namespace diopigen::core {

// *out = whether all elements are equal.
void equal_elements(bool* out, const Tensor& input_tensor, const Tensor& other_tensor);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_COMPARISON_LOGICAL_COMPARISON_LOGICAL_KERNELS_H_
