#include <diopigen_sim/matrix.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace diopigen::sim {
namespace {

constexpr int64_t kRows = 4;     // of a tile of the product, which stays in registers
constexpr int64_t kVectors = 2;  // of a row of a tile

// The vectors of a processor.
template <typename T, int kBytes>
struct Vector {
    typedef T Type __attribute__((vector_size(kBytes)));  // NOLINT: `using` takes no attribute that depends on T
    static constexpr int64_t kWidth = kVectors * kBytes / int64_t{sizeof(T)};  // elements in a row of a tile
};

// One tile: rows of x, and columns of y that lie together, row after row.
template <typename T, int kBytes>
[[gnu::always_inline]] inline void tile(int64_t k, const T* const (&x)[kRows], const T* columns,
                                        T (&sums)[kRows][Vector<T, kBytes>::kWidth]) {
    using V = typename Vector<T, kBytes>::Type;
    V sum[kRows][kVectors] = {};
    for (int64_t i = 0; i < k; ++i) {
        V y[kVectors];
        std::memcpy(&y, columns + i * Vector<T, kBytes>::kWidth, sizeof(y));
        for (int64_t row = 0; row < kRows; ++row) {
            for (int64_t v = 0; v < kVectors; ++v) {
                sum[row][v] += x[row][i] * y[v];
            }
        }
    }
    std::memcpy(&sums, &sum, sizeof(sum));
}

template <typename T, int kBytes>
[[gnu::always_inline]] inline void multiplyBy(int64_t m, int64_t k, int64_t n, const T* x, const T* y, T* product) {
    constexpr int64_t kColumns = Vector<T, kBytes>::kWidth;
    std::vector<T> columns(static_cast<std::size_t>(k * kColumns));
    for (int64_t column = 0; column < n; column += kColumns) {
        const int64_t width = std::min(kColumns, n - column);
        for (int64_t i = 0; i < k; ++i) {
            std::copy_n(y + i * n + column, width, columns.data() + i * kColumns);
        }
        for (int64_t row = 0; row < m; row += kRows) {
            const T* rows[kRows];
            for (int64_t r = 0; r < kRows; ++r) {
                rows[r] = x + std::min(row + r, m - 1) * k;  // what is computed twice is not stored
            }
            T sums[kRows][kColumns];
            tile<T, kBytes>(k, rows, columns.data(), sums);
            for (int64_t r = 0; r < std::min(kRows, m - row); ++r) {
                std::copy_n(sums[r], width, product + (row + r) * n + column);
            }
        }
    }
}

template <typename T>
using Multiply = void (*)(int64_t, int64_t, int64_t, const T*, const T*, T*);

template <typename T>
void multiplyAny(int64_t m, int64_t k, int64_t n, const T* x, const T* y, T* product) {
    multiplyBy<T, 16>(m, k, n, x, y, product);
}

#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx512f")]] void multiplyAvx512(int64_t m, int64_t k, int64_t n, const T* x, const T* y, T* product) {
    multiplyBy<T, 64>(m, k, n, x, y, product);
}
template <typename T>
[[gnu::target("avx2,fma")]] void multiplyAvx2(int64_t m, int64_t k, int64_t n, const T* x, const T* y, T* product) {
    multiplyBy<T, 32>(m, k, n, x, y, product);
}

template <typename T>
Multiply<T> chosen() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f")                                 ? multiplyAvx512<T>
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? multiplyAvx2<T>
                                                                             : multiplyAny<T>;
}
#else
template <typename T>
Multiply<T> chosen() {
    return multiplyAny<T>;
}
#endif

}  // namespace

void multiplyMatrices(int64_t m, int64_t k, int64_t n, const float* x, const float* y, float* product) {
    static const Multiply<float> multiply = chosen<float>();
    multiply(m, k, n, x, y, product);
}

void multiplyMatrices(int64_t m, int64_t k, int64_t n, const double* x, const double* y, double* product) {
    static const Multiply<double> multiply = chosen<double>();
    multiply(m, k, n, x, y, product);
}

}  // namespace diopigen::sim
