#include <diopigen_sim/matrix.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace diopigen::sim {
namespace {

constexpr int64_t kRows = 4;     // of a tile of the product, which stays in registers
constexpr int64_t kVectors = 2;  // of a row of a tile

// The vectors of a processor.
template <int kBytes>
struct Vector {
    typedef double Type __attribute__((vector_size(kBytes)));  // NOLINT: `using` takes no attribute that depends on it
    static constexpr int64_t kWidth = kVectors * kBytes / int64_t{sizeof(double)};  // elements in a row of a tile
};

// One tile: rows of x, and columns of y that are adjacent, row after row.
template <int kBytes>
[[gnu::always_inline]] inline void tile(int64_t k, const double* const (&x)[kRows], const double* columns,
                                        double (&sums)[kRows][Vector<kBytes>::kWidth]) {
    using V = typename Vector<kBytes>::Type;
    V sum[kRows][kVectors] = {};
    for (int64_t i = 0; i < k; ++i) {
        V y[kVectors];
        std::memcpy(&y, columns + i * Vector<kBytes>::kWidth, sizeof(y));
        for (int64_t row = 0; row < kRows; ++row) {
            for (int64_t v = 0; v < kVectors; ++v) {
                sum[row][v] += x[row][i] * y[v];
            }
        }
    }
    std::memcpy(&sums, &sum, sizeof(sum));
}

template <int kBytes>
[[gnu::always_inline]] inline void multiplyBy(int64_t m, int64_t k, int64_t n, const double* x, const double* y,
                                              double* product) {
    constexpr int64_t kColumns = Vector<kBytes>::kWidth;
    std::vector<double> columns(static_cast<std::size_t>(k * kColumns));
    for (int64_t column = 0; column < n; column += kColumns) {
        const int64_t width = std::min(kColumns, n - column);
        for (int64_t i = 0; i < k; ++i) {
            std::copy_n(y + i * n + column, width, columns.data() + i * kColumns);
        }
        for (int64_t row = 0; row < m; row += kRows) {
            const double* rows[kRows];
            for (int64_t r = 0; r < kRows; ++r) {
                rows[r] = x + std::min(row + r, m - 1) * k;  // what is computed twice is not stored
            }
            double sums[kRows][kColumns];
            tile<kBytes>(k, rows, columns.data(), sums);
            for (int64_t r = 0; r < std::min(kRows, m - row); ++r) {
                std::copy_n(sums[r], width, product + (row + r) * n + column);
            }
        }
    }
}

using Multiply = void (*)(int64_t, int64_t, int64_t, const double*, const double*, double*);

void multiplyAny(int64_t m, int64_t k, int64_t n, const double* x, const double* y, double* product) {
    multiplyBy<16>(m, k, n, x, y, product);
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] void multiplyAvx512(int64_t m, int64_t k, int64_t n, const double* x, const double* y,
                                               double* product) {
    multiplyBy<64>(m, k, n, x, y, product);
}
[[gnu::target("avx2,fma")]] void multiplyAvx2(int64_t m, int64_t k, int64_t n, const double* x, const double* y,
                                              double* product) {
    multiplyBy<32>(m, k, n, x, y, product);
}

Multiply chosen() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f")                                 ? multiplyAvx512
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? multiplyAvx2
                                                                             : multiplyAny;
}
#else
Multiply chosen() { return multiplyAny; }
#endif

}  // namespace

void multiplyMatrices(int64_t m, int64_t k, int64_t n, const double* x, const double* y, double* product) {
    static const Multiply multiply = chosen();
    multiply(m, k, n, x, y, product);
}

}  // namespace diopigen::sim
