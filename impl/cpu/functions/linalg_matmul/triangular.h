// Systems with one triangular matrix, solved in place by substitution.
#ifndef DIOPI_CPU_LINALG_MATMUL_TRIANGULAR_H_
#define DIOPI_CPU_LINALG_MATMUL_TRIANGULAR_H_

#include <cstdint>

namespace diopigen::cpu {

using namespace core;

// A triangular matrix over row-major elements, possibly seen transposed; the other triangle is not read.
template <typename A>
struct Triangle {
    const A* data;
    int64_t size;
    bool is_upper;       // the triangle of `data`
    bool is_transposed;  // the matrix is the transpose of `data`
    bool has_ones;       // the diagonal counts as ones
    bool is_upper_seen() const { return is_upper != is_transposed; }
    A at(int64_t row, int64_t column) const {
        return is_transposed ? data[column * size + row] : data[row * size + column];
    }
};

// Replaces b, row-major with `columns` columns, by the solution of matrix * x = b.
template <typename A>
void solve(const Triangle<A>& matrix, A* b, int64_t columns) {
    const int64_t n = matrix.size;
    for (int64_t step = 0; step < n; ++step) {
        const int64_t row = matrix.is_upper_seen() ? n - 1 - step : step;
        A* solved = b + row * columns;
        if (!matrix.has_ones) {
            const A pivot = matrix.at(row, row);
            for (int64_t j = 0; j < columns; ++j) {
                solved[j] = solved[j] / pivot;
            }
        }
        // Take the new unknown out of the equations that are left.
        const int64_t first = matrix.is_upper_seen() ? 0 : row + 1;
        const int64_t last = matrix.is_upper_seen() ? row : n;
        for (int64_t i = first; i < last; ++i) {
            const A factor = matrix.at(i, row);
            for (int64_t j = 0; j < columns; ++j) {
                b[i * columns + j] = b[i * columns + j] - factor * solved[j];
            }
        }
    }
}

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_LINALG_MATMUL_TRIANGULAR_H_
