#include <diopigen_kernels/matrix.h>
#include <diopigen_kernels/parallel.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>
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

// One vector of the same, as many of which are a square, and what selects its lanes.
template <typename T, int kBytes>
struct Square {
    typedef T Type __attribute__((vector_size(kBytes)));  // NOLINT: as above
    using Integer = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    typedef Integer Mask __attribute__((vector_size(kBytes)));  // NOLINT: as above
    static constexpr int64_t kWidth = kBytes / int64_t{sizeof(T)};
};

// One tile: rows of x, whose elements are `pitch` apart, and columns of y that are adjacent, row after row.
template <typename T, int kBytes>
[[gnu::always_inline]] inline void tile(int64_t k, const T* const* x, int64_t pitch, const T* columns, T* sums) {
    using V = Vector<T, kBytes>;
    typename V::Type sum[V::kRows][kVectors] = {};
    for (int64_t i = 0, at = 0; i < k; ++i, at += pitch) {
        typename V::Type y[kVectors];
#pragma GCC unroll 8
        for (int64_t v = 0; v < kVectors; ++v) {  // one by one: a copy of the array would go through memory
            std::memcpy(&y[v], columns + i * V::kWidth + v * kBytes / int64_t{sizeof(T)}, kBytes);
        }
#pragma GCC unroll 8
        for (int64_t row = 0; row < V::kRows; ++row) {
#pragma GCC unroll 8
            for (int64_t v = 0; v < kVectors; ++v) {
                sum[row][v] += x[row][at] * y[v];
            }
        }
    }
#pragma GCC unroll 8
    for (int64_t row = 0; row < V::kRows; ++row) {
#pragma GCC unroll 8
        for (int64_t v = 0; v < kVectors; ++v) {
            std::memcpy(sums + row * V::kWidth + v * kBytes / int64_t{sizeof(T)}, &sum[row][v], kBytes);
        }
    }
}

// The lanes of two vectors that one of their two transposed halves has.
template <typename S, int64_t kHalf, bool kIsHigh, std::size_t... kLanes>
[[gnu::always_inline]] inline void select_lanes(const typename S::Type& first, const typename S::Type& second,
                                                typename S::Type* selected, std::index_sequence<kLanes...>) {
    const auto lane = [](int64_t i) constexpr {
        const bool is_first = (i & kHalf) == 0;
        return kIsHigh ? (is_first ? i + kHalf : S::kWidth + i) : (is_first ? i : S::kWidth + i - kHalf);
    };
#if defined(__clang__)
    *selected = __builtin_shufflevector(first, second, lane(kLanes)...);
#else
    *selected = __builtin_shuffle(first, second, typename S::Mask{typename S::Integer{lane(kLanes)}...});
#endif
}

// A square of vectors becomes its transpose: the blocks of half a side change places, then those within each half. The
// loops are unrolled so that the square stays in registers.
template <typename S, int64_t kHalf>
[[gnu::always_inline]] inline void transpose(typename S::Type* rows) {
    constexpr auto kLanes = std::make_index_sequence<S::kWidth>();
#pragma GCC unroll 16
    for (int64_t i = 0; i < S::kWidth; ++i) {
        if ((i & kHalf) == 0) {
            const typename S::Type first = rows[i], second = rows[i + kHalf];
            select_lanes<S, kHalf, false>(first, second, &rows[i], kLanes);
            select_lanes<S, kHalf, true>(first, second, &rows[i + kHalf], kLanes);
        }
    }
    if constexpr (kHalf > 1) {
        transpose<S, kHalf / 2>(rows);
    }
}

// A square whose columns are adjacent in memory, and `stride` apart: store(i, row) gets its rows.
template <typename T, int kBytes, typename Store>
[[gnu::always_inline]] inline void transpose_square(const T* from, int64_t stride, const Store& store) {
    using S = Square<T, kBytes>;
    typename S::Type square[S::kWidth];
#pragma GCC unroll 16
    for (int64_t c = 0; c < S::kWidth; ++c) {
        std::memcpy(&square[c], from + c * stride, kBytes);
    }
    transpose<S, S::kWidth / 2>(square);
#pragma GCC unroll 16
    for (int64_t i = 0; i < S::kWidth; ++i) {
        store(i, square[i]);
    }
}

// `columns` [depth, kColumns] gets rows from `first` on of `width` columns of y.
template <typename T, int kBytes>
[[gnu::always_inline]] inline void gather_columns(const Matrix<T>& y, int64_t first, int64_t depth, int64_t column,
                                                  int64_t width, T* columns) {
    constexpr int64_t kColumns = Vector<T, kBytes>::kWidth;
    const T* const from = y.data + first * y.rowStride + column * y.columnStride;
    if (y.columnStride == 1) {
        for (int64_t i = 0; i < depth; ++i) {
            if (width == kColumns) {  // of a size that the compiler knows: no call for each row
                std::memcpy(columns + i * kColumns, from + i * y.rowStride, sizeof(T) * kColumns);
            } else {
                std::copy_n(from + i * y.rowStride, width, columns + i * kColumns);
            }
        }
        return;
    }
    int64_t done = 0;
    if (y.rowStride == 1 && width == kColumns) {
        constexpr int64_t kWidth = Square<T, kBytes>::kWidth;
        for (; done + kWidth <= depth; done += kWidth) {
            for (int64_t c = 0; c < kColumns; c += kWidth) {
                T* const to = columns + done * kColumns + c;
                transpose_square<T, kBytes>(
                    from + done + c * y.columnStride,
                    y.columnStride, [to](int64_t i, const auto& row) __attribute__((always_inline)) {
                        std::memcpy(to + i * kColumns, &row, kBytes);
                    });
            }
        }
    }
    constexpr int64_t kBlock = 16;  // in blocks, so that what a cache line has is used while it is near
    for (int64_t start = done; start < depth; start += kBlock) {
        const int64_t end = std::min(start + kBlock, depth);
        for (int64_t c = 0; c < width; ++c) {
            for (int64_t i = start; i < end; ++i) {
                columns[i * kColumns + c] = from[i * y.rowStride + c * y.columnStride];
            }
        }
    }
}

// Few rows of x, for which copies of the columns of y would take longer than the sums. The sums are those of tile().
constexpr int64_t kFewRows = 2;

// `sums` of so many vectors of columns over one run of a row; columns of y are adjacent in memory, or its rows are.
template <typename T, int kBytes, int64_t kCount>
[[gnu::always_inline]] inline void sumColumns(int64_t depth, const T* x, int64_t pitch, const T* y, int64_t row_stride,
                                              int64_t column_stride, T* sums) {
    using S = Square<T, kBytes>;
    typename S::Type sum[kCount] = {};
    int64_t i = 0;
    if (column_stride == 1) {
        for (; i < depth; ++i) {
            for (int64_t v = 0; v < kCount; ++v) {
                typename S::Type values;
                std::memcpy(&values, y + i * row_stride + v * S::kWidth, kBytes);
                sum[v] += x[i * pitch] * values;
            }
        }
    }
    for (; i + S::kWidth <= depth; i += S::kWidth) {
        for (int64_t v = 0; v < kCount; ++v) {
            transpose_square<T, kBytes>(
                y + i + v * S::kWidth * column_stride,
                column_stride, [&](int64_t j, const auto& row) __attribute__((always_inline)) {
                    sum[v] += x[(i + j) * pitch] * row;
                });
        }
    }
    for (; i < depth; ++i) {
        for (int64_t v = 0; v < kCount; ++v) {
            typename S::Type values = {};
            for (int64_t c = 0; c < S::kWidth; ++c) {
                values[c] = y[i + (v * S::kWidth + c) * column_stride];
            }
            sum[v] += x[i * pitch] * values;
        }
    }
    for (int64_t v = 0; v < kCount; ++v) {
        std::memcpy(sums + v * S::kWidth, &sum[v], kBytes);
    }
}

// Columns that are whole vectors, for few rows; returns how many they are.
template <typename T, int kBytes, int64_t kCount>
[[gnu::always_inline]] inline int64_t multiply_few_rows(int64_t first_column, int64_t m, int64_t k, int64_t n,
                                                        Matrix<T> x, Matrix<T> y, T* product) {
    constexpr int64_t kColumns = kCount * kBytes / int64_t{sizeof(T)};
    int64_t column = first_column;
    for (; column + kColumns <= n; column += kColumns) {
        for (int64_t row = 0; row < m; ++row) {
            T* const to = product + row * n + column;
            for (int64_t first = 0; first < k; first += kDepth) {
                T sums[kColumns];
                sumColumns<T, kBytes, kCount>(
                    std::min(kDepth, k - first), x.data + row * x.rowStride + first * x.columnStride, x.columnStride,
                    y.data + first * y.rowStride + column * y.columnStride, y.rowStride, y.columnStride, sums);
                for (int64_t c = 0; c < kColumns; ++c) {
                    to[c] = first == 0 ? sums[c] : to[c] + sums[c];
                }
            }
        }
    }
    return column;
}

template <typename T, int kBytes>
[[gnu::always_inline]] inline void multiply_by(int64_t m, int64_t k, int64_t n, Matrix<T> x, Matrix<T> y, T* product) {
    using V = Vector<T, kBytes>;
    constexpr int64_t kColumns = V::kWidth, kRows = V::kRows;
    if (k == 0) {
        std::fill_n(product, m * n, T(0));
        return;
    }
    int64_t start = 0;
    if (m <= kFewRows && (y.columnStride == 1 || y.rowStride == 1)) {
        start = multiply_few_rows<T, kBytes, 4>(start, m, k, n, x, y, product);
        start = multiply_few_rows<T, kBytes, 1>(start, m, k, n, x, y, product);
    }
    if (start == n) {
        return;
    }
    std::vector<T> columns(static_cast<std::size_t>(std::min(k, kDepth) * kColumns));
    for (int64_t column = start; column < n; column += kColumns) {
        const int64_t width = std::min(kColumns, n - column);
        for (int64_t first = 0; first < k; first += kDepth) {
            const int64_t depth = std::min(kDepth, k - first);
            gather_columns<T, kBytes>(y, first, depth, column, width, columns.data());
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
void multiply_any(int64_t m, int64_t k, int64_t n, Matrix<T> x, Matrix<T> y, T* product) {
    multiply_by<T, 16>(m, k, n, x, y, product);
}

#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx512f")]] void multiply_avx512(int64_t m, int64_t k, int64_t n, Matrix<T> x, Matrix<T> y, T* product) {
    multiply_by<T, 64>(m, k, n, x, y, product);
}
template <typename T>
[[gnu::target("avx2,fma")]] void multiply_avx2(int64_t m, int64_t k, int64_t n, Matrix<T> x, Matrix<T> y, T* product) {
    multiply_by<T, 32>(m, k, n, x, y, product);
}

template <typename T>
Multiply<T> selected() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f")                                 ? multiply_avx512<T>
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? multiply_avx2<T>
                                                                             : multiply_any<T>;
}
#else
template <typename T>
Multiply<T> selected() {
    return multiply_any<T>;
}
#endif

// Rows that are worth a range of their own: few enough for several ranges, and so many that to copy the columns of y
// once for each range costs little.
int64_t rows_of_range(int64_t m, int64_t k, int64_t n) {
    constexpr int64_t kProducts = 1 << 18;  // that take longer than to hand them to another thread
    constexpr int64_t kFewest = 32, kRanges = 4;
    const int64_t each = std::max<int64_t>(k * n, 1);
    const int64_t rows = std::max({kFewest, (m + kRanges - 1) / kRanges, (kProducts + each - 1) / each});
    return (rows + 7) / 8 * 8;  // whole tiles
}

template <typename T>
void multiply_in_ranges(int64_t m, int64_t k, int64_t n, Matrix<T> x, Matrix<T> y, T* product) {
    static const Multiply<T> multiply = selected<T>();
    const int64_t grain = rows_of_range(m, k, n);
    if (m <= grain) {
        if (n == 1) {  // one column is one row of the transposed product
            multiply(1, k, m, {y.data, y.columnStride, y.rowStride}, {x.data, x.columnStride, x.rowStride}, product);
        } else {
            multiply(m, k, n, x, y, product);
        }
        return;
    }
    forRanges(m, grain, [=](int64_t first, int64_t last) {
        multiply(last - first, k, n, {x.data + first * x.rowStride, x.rowStride, x.columnStride}, y,
                 product + first * n);
    });
}

}  // namespace

void multiplyMatrices(int64_t m, int64_t k, int64_t n, Matrix<double> x, Matrix<double> y, double* product) {
    multiply_in_ranges(m, k, n, x, y, product);
}

void multiplyMatrices(int64_t m, int64_t k, int64_t n, Matrix<float> x, Matrix<float> y, float* product) {
    multiply_in_ranges(m, k, n, x, y, product);
}

}  // namespace diopigen::kernels
