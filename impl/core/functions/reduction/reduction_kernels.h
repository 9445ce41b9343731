// What reductions do to elements, by group.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_REDUCTION_REDUCTION_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_REDUCTION_REDUCTION_KERNELS_H_

#include "diopi_core/raw_elements.h"
#include "diopi_core/reduction.h"

namespace diopigen::core {

// Sums are accumulated in double, complex<double> or int64, which wraps.
void reduce_sum(const Tensor& out, const Tensor& input, const Rows& rows);
void reduce_mean(const Tensor& out, const Tensor& input, const Rows& rows);
void reduce_product(const Tensor& out, const Tensor& input, const Rows& rows);

// Whether any or all elements differ from zero; NaN does.
void find_truth(const Tensor& out, const Tensor& input, const Rows& rows, bool is_any);

// NaN is more extreme than every number; of equal elements the first counts.
void extreme_values(const Tensor& values, const Tensor& input, const Rows& rows, bool is_largest);
// The same with positions within the row; null `values` are dropped.
void extreme_indices(const Tensor& values, const Tensor& indices, const Tensor& input, const Rows& rows,
                     bool is_largest);

// The norm of each row, of order `order` (docs/spec: Norm).
void vector_norms(const Tensor& out, const Tensor& input, const Rows& rows, double order);
// `target_tensor` and `source_tensor` have the dimensions of each row behind the others.
void vector_norm_gradient(const Tensor& target_tensor, const Tensor& gradients_tensor, const Tensor& source_tensor,
                          const Tensor& norms_tensor, const Rows& rows, double order);

// The root of the sum of squared distances from the mean over `divisor`.
void deviations(const Tensor& out_tensor, const Tensor& input_tensor, const Rows& rows, double divisor);

// Sums along the middle one of three dimensions, from its start or from its end.
void running_sums(const Tensor& out, const Tensor& input, const DimSplit& split, bool is_forward);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_REDUCTION_REDUCTION_KERNELS_H_
