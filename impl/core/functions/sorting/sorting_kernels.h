// What sorting does to elements.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_SORTING_SORTING_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_SORTING_SORTING_KERNELS_H_

#include "../indexing/positions.h"
#include "diopi_core/reduction.h"

namespace diopigen::core {

// Rows lie along the last dimension of all views. NaN is above all numbers, and the order of equals is preserved.

void sort_rows_of(const Tensor& values, const Tensor& indices_tensor, const Tensor& input, const Rows& rows,
                  bool descending);
void argsort_rows_of(const Tensor& indices_tensor, const Tensor& input, const Rows& rows, bool descending);
// The `limit` first of each row in order.
void pick_rows_of(const Tensor& values, const Tensor& indices_tensor, const Tensor& input, const Rows& rows,
                  int64_t limit, bool largest);
// Slice k of `gradient` goes to slice positions[k] of `result`; the others are 0.
void return_slices(const Tensor& result, const Tensor& gradient, const Positions& positions, const DimSplit& split,
                   int64_t count);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_SORTING_SORTING_KERNELS_H_
