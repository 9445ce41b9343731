// What operators over lists do to all their tensors.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_FOREACH_FOREACH_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_FOREACH_FOREACH_KERNELS_H_

#include <vector>

#include "diopi_core/tensor.h"

namespace diopigen::core {

// Of each tensor the norm of all elements, of order `order`.
void norms_of_all(const std::vector<Tensor>& results, const std::vector<Tensor>& vectors, double order);

// Divides by the scale; `found_tensor` becomes 1 where an element is not finite.
void unscale(const std::vector<Tensor>& gradients, const Tensor& found_tensor, const Tensor& scale_tensor);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_FOREACH_FOREACH_KERNELS_H_
