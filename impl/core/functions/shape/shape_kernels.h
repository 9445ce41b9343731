// What shape operators do that is no copy of a view.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_SHAPE_SHAPE_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_SHAPE_SHAPE_KERNELS_H_

#include "diopi_core/raw_elements.h"

namespace diopigen::core {

// For each dimension of the result, the coordinates of the input.
using Tables = std::vector<std::vector<int64_t>>;
void gather_tables(const Tensor& out, const Tensor& input, const std::vector<int64_t>& input_shape,
                   const Tables& tables);

// The sums of windows along the middle one of three dimensions; the elements of a window come last in `gradient`.
void add_up_windows(const Tensor& result, const Tensor& gradient, const DimSplit& split, int64_t count, int64_t size,
                    int64_t step);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_SHAPE_SHAPE_KERNELS_H_
