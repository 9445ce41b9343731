// Triangular systems on the device: one thread solves for one column.
#ifndef DIOPI_CUDA_LINALG_TRIANGLES_H_
#define DIOPI_CUDA_LINALG_TRIANGLES_H_

#include "diopi_core/math.h"
#include "diopi_cuda/group.h"
#include "linalg_matmul/linalg_matmul_kernels.h"

namespace diopigen::cuda {

using namespace diopigen::core;  // NOLINT

// A triangular matrix over row-major elements, seen as `seen` says and conjugated where `is_conjugated` holds.
template <typename A>
struct DeviceTriangle {
    const A* data;
    int64_t size;
    TriangleSeen seen;
    bool is_conjugated;

    DIOPI_DEVICE A at(int64_t row, int64_t column) const {
        const A value = seen.is_transposed ? data[column * size + row] : data[row * size + column];
        return is_conjugated ? conj(value) : value;
    }
    // Replaces one column of b, which has `columns` of them, by the solution of matrix * x = b.
    DIOPI_DEVICE void solve(A* b, int64_t columns, int64_t j) const {
        const bool is_upper = seen.is_upper != seen.is_transposed;
        for (int64_t step = 0; step < size; ++step) {
            const int64_t row = is_upper ? size - 1 - step : step;
            A& solved = b[row * columns + j];
            if (!seen.has_ones) {
                solved = solved / at(row, row);
            }
            const int64_t first = is_upper ? 0 : row + 1;
            const int64_t last = is_upper ? row : size;
            for (int64_t i = first; i < last; ++i) {
                b[i * columns + j] = b[i * columns + j] - at(i, row) * solved;
            }
        }
    }
};

// Calls `body(A{})` with the type that elements are computed in.
template <typename Body>
void dispatch_factored(Dtype dtype, Body&& body) {
    is_complex(dtype) ? body(Complex128{}) : body(double{});
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_LINALG_TRIANGLES_H_
