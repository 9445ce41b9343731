#include <diopigen_kernels/matrix.h>
#include <diopigen_kernels/parallel.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace diopigen::kernels {
namespace {

constexpr int64_t kVectors = 2;  // of a row of a tile of the product, which stays in registers
constexpr int64_t kDepth = 256;  // of the sums that a tile takes at a time: its columns of y stay in the nearest cache

// The vectors of a processor with this many bytes, and the rows of a tile that its registers have room for.
template <typename T, int kBytes>
struct Vector {
    typedef T Type __attribute__((vector_size(kBytes)));  // NOLINT: `using` takes no attribute that depends on it
    static constexpr int64_t kWidth = kVectors * kBytes / int64_t{sizeof(T)};  // elements in a row of a tile
    static constexpr int64_t kRows = kBytes == 64 ? 8 : 4;
};

// One tile: rows of x, whose elements are `pitch` apart, and columns of y that are adjacent, row after row.
template <typename T, int kBytes>
[[gnu::always_inline]] inline void tile(int64_t k, const T* const* x, int64_t pitch, const T* columns, T* sums) {
    using V = Vector<T, kBytes>;
    typename V::Type sum[V::kRows][kVectors] = {};
    for (int64_t i = 0, at = 0; i < k; ++i, at += pitch) {
        typename V::Type y[kVectors];
        std::memcpy(&y, columns + i * V::kWidth, sizeof(y));
        for (int64_t row = 0; row < V::kRows; ++row) {
            for (int64_t v = 0; v < kVectors; ++v) {
                sum[row][v] += x[row][at] * y[v];
            }
        }
    }
    std::memcpy(sums, &sum, sizeof(sum));
}

// `columns` [depth, kColumns] gets rows from `first` on of `width` columns of y.
template <typename T, int64_t kColumns>
[[gnu::always_inline]] inline void gatherColumns(const Matrix<T>& y, int64_t first, int64_t depth, int64_t column,
                                                 int64_t width, T* columns) {
    const T* const from = y.data + first * y.rowStride + column * y.columnStride;
    if (y.columnStride == 1) {
        for (int64_t i = 0; i < depth; ++i) {
            std::copy_n(from + i * y.rowStride, width, columns + i * kColumns);
        }
        return;
    }
    constexpr int64_t kBlock = 16;  // in blocks, so that what a cache line has is used while it is near
    for (int64_t start = 0; start < depth; start += kBlock) {
        const int64_t end = std::min(start + kBlock, depth);
        for (int64_t c = 0; c < width; ++c) {
            for (int64_t i = start; i < end; ++i) {
                columns[i * kColumns + c] = from[i * y.rowStride + c * y.columnStride];
            }
        }
    }
}

template <typename T, int kBytes>
[[gnu::always_inline]] inline void multiplyBy(int64_t m, int64_t k, int64_t n, Matrix<T> x, Matrix<T> y, T* product) {
    using V = Vector<T, kBytes>;
    constexpr int64_t kColumns = V::kWidth, kRows = V::kRows;
    if (k == 0) {
        std::fill_n(product, m * n, T(0));
    }
    std::vector<T> columns(static_cast<std::size_t>(std::min(k, kDepth) * kColumns));
    for (int64_t column = 0; column < n; column += kColumns) {
        const int64_t width = std::min(kColumns, n - column);
        for (int64_t first = 0; first < k; first += kDepth) {
            const int64_t depth = std::min(kDepth, k - first);
            gatherColumns<T, kColumns>(y, first, depth, column, width, columns.data());
            for (int64_t row = 0; row < m; row += kRows) {
                const T* rows[kRows];
                for (int64_t r = 0; r < kRows; ++r) {
                    // What is computed twice is not stored.
                    rows[r] = x.data + std::min(row + r, m - 1) * x.rowStride + first * x.columnStride;
                }
                T sums[kRows * kColumns];
                if (x.columnStride == 1) {  // a loop of its own: its addresses are simpler
                    tile<T, kBytes>(depth, rows, 1, columns.data(), sums);
                } else {
                    tile<T, kBytes>(depth, rows, x.columnStride, columns.data(), sums);
                }
                for (int64_t r = 0; r < std::min(kRows, m - row); ++r) {
                    T* const to = product + (row + r) * n + column;
                    const T* const from = sums + r * kColumns;
                    for (int64_t i = 0; i < width; ++i) {
                        to[i] = first == 0 ? from[i] : to[i] + from[i];
                    }
                }
            }
        }
    }
}

template <typename T>
using Multiply = void (*)(int64_t, int64_t, int64_t, Matrix<T>, Matrix<T>, T*);

template <typename T>
void multiplyAny(int64_t m, int64_t k, int64_t n, Matrix<T> x, Matrix<T> y, T* product) {
    multiplyBy<T, 16>(m, k, n, x, y, product);
}

#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx512f")]] void multiplyAvx512(int64_t m, int64_t k, int64_t n, Matrix<T> x, Matrix<T> y, T* product) {
    multiplyBy<T, 64>(m, k, n, x, y, product);
}
template <typename T>
[[gnu::target("avx2,fma")]] void multiplyAvx2(int64_t m, int64_t k, int64_t n, Matrix<T> x, Matrix<T> y, T* product) {
    multiplyBy<T, 32>(m, k, n, x, y, product);
}

template <typename T>
Multiply<T> selected() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f")                                 ? multiplyAvx512<T>
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? multiplyAvx2<T>
                                                                             : multiplyAny<T>;
}
#else
template <typename T>
Multiply<T> selected() {
    return multiplyAny<T>;
}
#endif

// Rows that are worth a range of their own: few enough for several ranges, and so many that to copy the columns of y
// once for each range costs little.
int64_t rowsOfRange(int64_t m, int64_t k, int64_t n) {
    constexpr int64_t kProducts = 1 << 18;  // that take longer than to hand them to another thread
    constexpr int64_t kFewest = 32, kRanges = 4;
    const int64_t each = std::max<int64_t>(k * n, 1);
    const int64_t rows = std::max({kFewest, (m + kRanges - 1) / kRanges, (kProducts + each - 1) / each});
    return (rows + 7) / 8 * 8;  // whole tiles
}

template <typename T>
void multiplyInRanges(int64_t m, int64_t k, int64_t n, Matrix<T> x, Matrix<T> y, T* product) {
    static const Multiply<T> multiply = selected<T>();
    const int64_t grain = rowsOfRange(m, k, n);
    if (m <= grain) {
        multiply(m, k, n, x, y, product);
        return;
    }
    forRanges(m, grain, [=](int64_t first, int64_t last) {
        multiply(last - first, k, n, {x.data + first * x.rowStride, x.rowStride, x.columnStride}, y,
                 product + first * n);
    });
}

}  // namespace

void multiplyMatrices(int64_t m, int64_t k, int64_t n, Matrix<double> x, Matrix<double> y, double* product) {
    multiplyInRanges(m, k, n, x, y, product);
}

void multiplyMatrices(int64_t m, int64_t k, int64_t n, Matrix<float> x, Matrix<float> y, float* product) {
    multiplyInRanges(m, k, n, x, y, product);
}

}  // namespace diopigen::kernels
