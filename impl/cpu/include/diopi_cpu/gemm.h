// Matrix products of row-major arrays.
#ifndef DIOPI_CPU_GEMM_H_
#define DIOPI_CPU_GEMM_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/threads.h"

namespace diopi::cpu {

// Calls `finish(row, column, sum)` for the elements of a (rows x inner) times b (inner x columns), with the sums kept
// in Accumulator<T>. Rows are spread over the threads.
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

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_GEMM_H_
