// Matrix products.
#ifndef DIOPI_CORE_GEMM_H_
#define DIOPI_CORE_GEMM_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "diopi_core/dense.h"
#include "diopi_core/threads.h"

namespace diopigen::core {

// A matrix in memory: element (i, j) is data[i * stride + j], or data[j * stride + i] where it is stored transposed. In
// a batch, one matrix begins `batch_stride` elements after the other.
template <typename T>
struct Matrix {
    const T* data;
    int64_t stride;
    bool is_transposed = false;
    int64_t batch_stride = 0;
};

struct ProductSize {
    int64_t rows;
    int64_t inner;
    int64_t columns;
    int64_t count = 1;  // of the batch
};

// c = alpha a b + beta c for float and double, with `a` rows x inner, `b` inner x columns and `c` row-major with
// `stride` elements from row to row. `c` is not read where beta is 0. Sums are accumulated in T. How the work is cut
// follows from the sizes alone: results do not depend on the number of threads.
template <typename T>
void gemm(const ProductSize& size, T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, T* c, int64_t stride,
          int64_t batch_stride = 0);

// The same for one product, in this thread.
template <typename T>
void gemm_block(const ProductSize& size, T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, T* c, int64_t stride);

// out = alpha a b + beta added for tensors [batch, rows, inner], [batch, inner, columns] and [batch, rows, columns] of
// one number or complex dtype and any strides. `added` may be null or `out` itself and is not read where beta is 0.
// Halves are added up in float, integers in int64, complex numbers in complex128.
void multiply_tensors(const Tensor& out, const Tensor& a, const Tensor& b, Number alpha = Number::of(1),
                      Number beta = Number::of(0), const Tensor& added = Tensor());

// Calls `finish(row, column, sum)` for the elements of a (rows x inner) times b (inner x columns), with the sums kept
// in Accumulator<T>. Rows are spread over the threads. For types that `gemm` does not take.
template <typename T, typename Finish>
void multiply(const T* a, const T* b, int64_t rows, int64_t inner, int64_t columns, Finish&& finish) {
    using Sum = Accumulator<T>;
    constexpr int64_t kPanel = 256;  // columns whose sums stay in the first-level cache
    parallel_for(rows, 1 + 65536 / (inner * columns + 1), [&](int64_t begin, int64_t end) {
        Sum sums[kPanel];
        for (int64_t first = 0; first < columns; first += kPanel) {
            const int64_t width = std::min(kPanel, columns - first);
            for (int64_t row = begin; row < end; ++row) {
                std::fill(sums, sums + width, Sum(0));
                for (int64_t k = 0; k < inner; ++k) {
                    const Sum factor(a[row * inner + k]);
                    const T* panel = b + k * columns + first;
                    for (int64_t j = 0; j < width; ++j) {
                        sums[j] = sums[j] + factor * Sum(panel[j]);
                    }
                }
                for (int64_t j = 0; j < width; ++j) {
                    finish(row, first + j, sums[j]);
                }
            }
        }
    });
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_GEMM_H_
