// Products of matrices.
#ifndef DIOPIGEN_KERNELS_MATRIX_H_
#define DIOPIGEN_KERNELS_MATRIX_H_

#include <cstdint>

namespace diopigen::kernels {

/// product [m, n] = x [m, k] * y [k, n], all row-major; the product shares no memory with the others. Each element is
/// the sum over k from the first to the last, in runs whose sums are added; so it is the same for every size of the
/// other dimensions.
void multiplyMatrices(int64_t m, int64_t k, int64_t n, const double* x, const double* y, double* product);
void multiplyMatrices(int64_t m, int64_t k, int64_t n, const float* x, const float* y, float* product);

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_MATRIX_H_
