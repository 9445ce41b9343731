// What products with matrices in compressed sparse rows do to elements. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_SPARSE_SPARSE_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_SPARSE_SPARSE_KERNELS_H_

#include "diopi_core/dense.h"

namespace diopigen::core {

// What may be wrong with positions: the first start is not 0 or the last not the number of values, starts fall, a
// column is not below `width`.
enum class CsrFault { kEnds, kFalls, kColumn };
const char* text_of(CsrFault fault);

void require_csr(const Input<Int64>& starts, const Input<Int64>& columns, int64_t rows, int64_t width, int64_t stored);
// Sums are accumulated in double, entry by entry in stored order.
void multiply_sparse(const Tensor& out, const Tensor& values_tensor, const Tensor& dense_tensor,
                     const Input<Int64>& starts, const Input<Int64>& columns);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_SPARSE_SPARSE_KERNELS_H_
