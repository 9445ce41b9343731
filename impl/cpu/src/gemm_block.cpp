// One product in one thread: oneDNN's sgemm for float, else own loops, which keep a packed panel of `b` in the
// second-level cache and a tile of sums in registers.
#include <algorithm>
#include <vector>

#include "diopi_core/clones.h"
#include "diopi_core/gemm.h"
#include "diopi_cpu/capability.h"
#include "onednn.h"

namespace diopigen::core {

using namespace cpu;

namespace {

constexpr int64_t kHeight = 6;       // rows of a tile of sums
constexpr int64_t kWidthBytes = 64;  // its columns: one register of AVX-512, two of AVX2, four of others
constexpr int64_t kDepth = 256;      // of a packed panel
constexpr int64_t kPanel = 512;      // columns of a packed panel

template <typename T>
constexpr int64_t kWidth = kWidthBytes / static_cast<int64_t>(sizeof(T));

// sums = the products of `depth` packed columns of `a` (kHeight each) and packed rows of `b` (kWidthBytes each), in
// vectors of the machine's width: the compiler takes wider ones apart through memory.
template <typename T>
using Tile = void (*)(int64_t depth, const T* a, const T* b, T* sums);

#define DIOPI_CPU_TILE(T, NAME, LEVEL, BYTES)                                           \
    LEVEL void NAME(int64_t depth, const T* a, const T* b, T* sums) {                   \
        typedef T Vector __attribute__((vector_size(BYTES)));                           \
        constexpr int64_t kParts = kWidthBytes / (BYTES);                               \
        Vector rows[kHeight][kParts] = {};                                              \
        for (int64_t k = 0; k < depth; ++k) {                                           \
            const auto* const row = reinterpret_cast<const Vector*>(b + k * kWidth<T>); \
            for (int64_t i = 0; i < kHeight; ++i) {                                     \
                for (int64_t part = 0; part < kParts; ++part) {                         \
                    rows[i][part] += a[k * kHeight + i] * row[part];                    \
                }                                                                       \
            }                                                                           \
        }                                                                               \
        for (int64_t i = 0; i < kHeight; ++i) {                                         \
            for (int64_t part = 0; part < kParts; ++part) {                             \
                reinterpret_cast<Vector*>(sums + i * kWidth<T>)[part] = rows[i][part];  \
            }                                                                           \
        }                                                                               \
    }
#define DIOPI_CPU_TILES(NAME, LEVEL, BYTES)   \
    DIOPI_CPU_TILE(float, NAME, LEVEL, BYTES) \
    DIOPI_CPU_TILE(double, NAME, LEVEL, BYTES)
#if !defined(DIOPI_CPU_LEVELS)
DIOPI_CPU_CLONES void tile_of_build(int64_t depth, const float* a, const float* b, float* sums);
DIOPI_CPU_CLONES void tile_of_build(int64_t depth, const double* a, const double* b, double* sums);
#endif
#if defined(__AVX512F__)
DIOPI_CPU_TILES(tile_of_build, , 64)
#elif defined(__AVX2__)
DIOPI_CPU_TILES(tile_of_build, , 32)
#else
DIOPI_CPU_TILES(tile_of_build, , 16)
#endif
#if defined(DIOPI_CPU_LEVELS)
DIOPI_CPU_TILES(tile_avx2, __attribute__((target("arch=x86-64-v3"))), 32)
DIOPI_CPU_TILES(tile_avx512, __attribute__((target("arch=x86-64-v4"))), 64)
#endif
#undef DIOPI_CPU_TILES
#undef DIOPI_CPU_TILE

template <typename T>
Tile<T> best_tile() {
#if defined(DIOPI_CPU_LEVELS)
    switch (capability()) {
        case Capability::kAvx512:
            return tile_avx512;
        case Capability::kAvx2:
            return tile_avx2;
        default:
            break;
    }
#endif
    return tile_of_build;
}

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
    static const Tile<T> tile = best_tile<T>();
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

// Up to so many multiplications a call of oneDNN takes longer than they do.
constexpr int64_t kFew = 1 << 13;
// Up to so many columns, and rows of the second matrix, packing takes longer as well.
constexpr int64_t kFewColumns = 4;
constexpr int64_t kShallow = 16;

template <typename T, int64_t kColumns>
void multiply_few(const ProductSize& size, T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, T* c,
                  int64_t stride) {
    T rows[kShallow][kColumns];
    for (int64_t k = 0; k < size.inner; ++k) {
        for (int64_t j = 0; j < kColumns; ++j) {
            rows[k][j] = element(b, k, j);
        }
    }
    const int64_t step = a.is_transposed ? a.stride : 1;
    for (int64_t i = 0; i < size.rows; ++i) {
        const T* const factors = a.data + (a.is_transposed ? i : i * a.stride);
        T sums[kColumns] = {};
        for (int64_t k = 0; k < size.inner; ++k) {
            for (int64_t j = 0; j < kColumns; ++j) {
                sums[j] += factors[k * step] * rows[k][j];
            }
        }
        for (int64_t j = 0; j < kColumns; ++j) {
            T& to = c[i * stride + j];
            to = beta == 0 ? alpha * sums[j] : alpha * sums[j] + beta * to;
        }
    }
}

// Whether the product is small enough to be done here.
template <typename T>
bool is_done(const ProductSize& size, T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, T* c, int64_t stride) {
    if (size.rows * size.inner * size.columns > kFew) {
        return false;
    }
    if (size.inner <= kShallow && size.columns <= kFewColumns) {
        constexpr decltype(&multiply_few<T, 1>) kByColumns[kFewColumns] = {multiply_few<T, 1>, multiply_few<T, 2>,
                                                                           multiply_few<T, 3>, multiply_few<T, 4>};
        kByColumns[size.columns - 1](size, alpha, a, b, beta, c, stride);
    } else {
        own_block(size, alpha, a, b, beta, c, stride);
    }
    return true;
}

}  // namespace

template <>
void gemm_block(const ProductSize& size, float alpha, const Matrix<float>& a, const Matrix<float>& b, float beta,
                float* c, int64_t stride) {
    // oneDNN does not read the factors where alpha is 0, and NaN would be lost.
    if (!is_done(size, alpha, a, b, beta, c, stride) &&
        (alpha == 0 || size.inner == 0 || !onednn::multiply(size, alpha, a, b, beta, c, stride))) {
        own_block(size, alpha, a, b, beta, c, stride);
    }
}

template <>
void gemm_block(const ProductSize& size, double alpha, const Matrix<double>& a, const Matrix<double>& b, double beta,
                double* c, int64_t stride) {
    if (!is_done(size, alpha, a, b, beta, c, stride)) {
        own_block(size, alpha, a, b, beta, c, stride);
    }
}

}  // namespace diopigen::core
