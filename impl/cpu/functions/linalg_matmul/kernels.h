// What products of matrices do to elements, beside the products.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CPU_FUNCTIONS_LINALG_MATMUL_KERNELS_H_
#define DIOPI_CPU_FUNCTIONS_LINALG_MATMUL_KERNELS_H_

#include "diopi_cpu/tensor.h"

namespace diopi::cpu {

// The sum over all dimensions but the last.
void sum_rows(const Tensor& sums, const Tensor& tensor);

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_FUNCTIONS_LINALG_MATMUL_KERNELS_H_
