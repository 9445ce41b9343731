// What products of matrices do to elements, beside the products.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CPU_FUNCTIONS_LINALG_MATMUL_KERNELS_H_
#define DIOPI_CPU_FUNCTIONS_LINALG_MATMUL_KERNELS_H_

#include "diopi_cpu/tensor.h"

namespace diopi::cpu {

// The sum over all dimensions but the last.
void sum_rows(const Tensor& sums, const Tensor& tensor);

// ---- Distances between two sets of points each, in batches, for float32 and float64. ----

void find_distances(const Tensor& out, const Tensor& first, const Tensor& second, double order);
// The gradient of the first points.
void find_distance_gradient(const Tensor& result_tensor, const Tensor& gradient_tensor, const Tensor& first,
                            const Tensor& second, const Tensor& distances, double order);

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_FUNCTIONS_LINALG_MATMUL_KERNELS_H_
