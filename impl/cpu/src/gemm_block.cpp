// One product in one thread: oneDNN's sgemm for float, else own loops, which keep a packed panel of `b` in the
// second-level cache and a tile of sums in registers.
#include <algorithm>
#include <vector>

#include "diopi_core/clones.h"
#include "diopi_core/gemm.h"
#include "onednn.h"

namespace diopigen::core {

using namespace cpu;

namespace {

constexpr int64_t kHeight = 6;       // rows of a tile of sums
constexpr int64_t kWidthBytes = 64;  // its columns: one AVX-512 register, two of AVX2
constexpr int64_t kDepth = 256;      // of a packed panel
constexpr int64_t kPanel = 512;      // columns of a packed panel

template <typename T>
constexpr int64_t kWidth = kWidthBytes / static_cast<int64_t>(sizeof(T));

// sums = the products of `depth` packed columns of `a` (kHeight each) and packed rows of `b` (one register each).
#define DIOPI_CPU_TILE(T)                                                           \
    DIOPI_CPU_CLONES void tile(int64_t depth, const T* a, const T* b, T* sums) {    \
        typedef T Vector __attribute__((vector_size(kWidthBytes)));                 \
        Vector rows[kHeight] = {};                                                  \
        for (int64_t k = 0; k < depth; ++k) {                                       \
            const Vector row = *reinterpret_cast<const Vector*>(b + k * kWidth<T>); \
            for (int64_t i = 0; i < kHeight; ++i) {                                 \
                rows[i] += a[k * kHeight + i] * row;                                \
            }                                                                       \
        }                                                                           \
        for (int64_t i = 0; i < kHeight; ++i) {                                     \
            *reinterpret_cast<Vector*>(sums + i * kWidth<T>) = rows[i];             \
        }                                                                           \
    }
DIOPI_CPU_TILE(float)
DIOPI_CPU_TILE(double)
#undef DIOPI_CPU_TILE

template <typename T>
T element(const Matrix<T>& matrix, int64_t i, int64_t j) {
    return matrix.is_transposed ? matrix.data[j * matrix.stride + i] : matrix.data[i * matrix.stride + j];
}

// Strips of kWidth columns, row by row; columns beyond the matrix are 0.
template <typename T>
void pack_b(const Matrix<T>& b, int64_t first_row, int64_t depth, int64_t first_column, int64_t columns, T* to) {
    for (int64_t strip = 0; strip < columns; strip += kWidth<T>) {
        const int64_t width = std::min(kWidth<T>, columns - strip);
        for (int64_t k = 0; k < depth; ++k, to += kWidth<T>) {
            for (int64_t j = 0; j < width; ++j) {
                to[j] = element(b, first_row + k, first_column + strip + j);
            }
            std::fill(to + width, to + kWidth<T>, T(0));
        }
    }
}

// Strips of kHeight rows, column by column; rows beyond the matrix are 0.
template <typename T>
void pack_a(const Matrix<T>& a, int64_t first_row, int64_t rows, int64_t first_column, int64_t depth, T* to) {
    for (int64_t k = 0; k < depth; ++k, to += kHeight) {
        for (int64_t i = 0; i < kHeight; ++i) {
            to[i] = i < rows ? element(a, first_row + i, first_column + k) : T(0);
        }
    }
}

template <typename T>
void scale_rows(const ProductSize& size, T beta, T* c, int64_t stride) {
    for (int64_t i = 0; i < size.rows; ++i) {
        for (int64_t j = 0; j < size.columns; ++j) {
            c[i * stride + j] = beta == 0 ? T(0) : beta * c[i * stride + j];
        }
    }
}

template <typename T>
void own_block(const ProductSize& size, T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, T* c, int64_t stride) {
    // Each thread keeps its room from call to call.
    thread_local Buffer room;
    if (room.data() == nullptr) {
        room.allocate((kDepth * (kPanel + kHeight) + kHeight * kWidth<double>)*static_cast<int64_t>(sizeof(double)));
    }
    T* const panel = static_cast<T*>(room.data());
    T* const sums = panel + kDepth * kPanel;
    T* const strip = sums + kHeight * kWidth<T>;
    scale_rows(size, beta, c, stride);
    for (int64_t first_k = 0; first_k < size.inner; first_k += kDepth) {
        const int64_t depth = std::min(kDepth, size.inner - first_k);
        for (int64_t first_j = 0; first_j < size.columns; first_j += kPanel) {
            const int64_t columns = std::min(kPanel, size.columns - first_j);
            pack_b(b, first_k, depth, first_j, columns, panel);
            for (int64_t first_i = 0; first_i < size.rows; first_i += kHeight) {
                const int64_t rows = std::min(kHeight, size.rows - first_i);
                pack_a(a, first_i, rows, first_k, depth, strip);
                for (int64_t j = 0; j < columns; j += kWidth<T>) {
                    tile(depth, strip, panel + j * depth, sums);
                    const int64_t width = std::min(kWidth<T>, columns - j);
                    for (int64_t i = 0; i < rows; ++i) {
                        T* to = c + (first_i + i) * stride + first_j + j;
                        for (int64_t l = 0; l < width; ++l) {
                            to[l] += alpha * sums[i * kWidth<T> + l];
                        }
                    }
                }
            }
        }
    }
}

}  // namespace

template <>
void gemm_block(const ProductSize& size, float alpha, const Matrix<float>& a, const Matrix<float>& b, float beta,
                float* c, int64_t stride) {
    // oneDNN does not read the factors where alpha is 0, and NaN would be lost.
    if (alpha == 0 || size.inner == 0 || !onednn::multiply(size, alpha, a, b, beta, c, stride)) {
        own_block(size, alpha, a, b, beta, c, stride);
    }
}

template <>
void gemm_block(const ProductSize& size, double alpha, const Matrix<double>& a, const Matrix<double>& b, double beta,
                double* c, int64_t stride) {
    own_block(size, alpha, a, b, beta, c, stride);
}

}  // namespace diopigen::core
