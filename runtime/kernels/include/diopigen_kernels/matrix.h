// Products of matrices.
#ifndef DIOPIGEN_KERNELS_MATRIX_H_
#define DIOPIGEN_KERNELS_MATRIX_H_

#include <cstdint>

namespace diopigen::kernels {

/// Element (row, column) is data[row * rowStride + column * columnStride].
template <typename T>
struct Matrix {
    const T* data;
    int64_t rowStride, columnStride;
};

/// product [m, n] = x [m, k] * y [k, n]; the product is row-major and shares no memory with the others. Each element is
/// the sum over k from the first to the last, in runs whose sums are added; so it is the same for every size of the
/// other dimensions and for all strides.
void multiplyMatrices(int64_t m, int64_t k, int64_t n, Matrix<double> x, Matrix<double> y, double* product);
void multiplyMatrices(int64_t m, int64_t k, int64_t n, Matrix<float> x, Matrix<float> y, float* product);

/// The same of row-major matrices.
template <typename T>
void multiplyMatrices(int64_t m, int64_t k, int64_t n, const T* x, const T* y, T* product) {
    multiplyMatrices(m, k, n, Matrix<T>{x, k, 1}, Matrix<T>{y, n, 1}, product);
}

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_MATRIX_H_
