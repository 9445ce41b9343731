// TriangularSolve and its gradients.
#include "diopi_cuda/launch.h"
#include "linalg_matmul/batches.h"
#include "triangles.h"

namespace diopigen::cuda {

namespace {

// Solves for all columns of all matrices; what is not there counts as zeros.
template <typename A>
void solve(A* sides, const A* source, const A* coefficients, int64_t count, int64_t n, int64_t columns,
           const TriangleSeen& seen, bool is_conjugated) {
    for_each(count * columns, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t k = at / columns;
        const int64_t j = at % columns;
        A* side = sides + k * n * columns;
        for (int64_t i = 0; i < n; ++i) {
            side[i * columns + j] = source == nullptr ? A(0) : source[(k * n + i) * columns + j];
        }
        if (source != nullptr) {
            DeviceTriangle<A>{coefficients + k * n * n, n, seen, is_conjugated}.solve(side, columns, j);
        }
    });
}

// Minus the side's gradient times the solution's conjugate, in the triangle that was read; `sides` may be null.
template <typename A>
void find_matrix(A* matrices, const A* sides, const A* solutions, const A* cloned, int64_t count, int64_t n,
                 int64_t columns, const TriangleSeen& seen) {
    for_each(count * n * n, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t k = at / (n * n);
        const int64_t i = at / n % n;
        const int64_t j = at % n;
        const bool is_read = (seen.is_upper ? i < j : i > j) || (i == j && !seen.has_ones);
        const int64_t of_side = (k * n + (seen.is_transposed ? j : i)) * columns;
        const int64_t of_solution = (k * n + (seen.is_transposed ? i : j)) * columns;
        A sum = cloned != nullptr ? cloned[at] : A(0);
        for (int64_t c = 0; is_read && sides != nullptr && c < columns; ++c) {
            sum = sum - sides[of_side + c] * conj(solutions[of_solution + c]);
        }
        matrices[at] = sum;
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void solve_triangular(const Tensor& out, const Tensor& b, const Tensor& mat, const TriangleSeen& how) {
    const Matrices right(b);
    cuda::dispatch_factored(b.dtype, [&](auto sample) {
        using A = decltype(sample);
        const Input<A> coefficients(mat);
        const Input<A> sides(b);
        const Output<A> result(out);
        cuda::solve<A>(result.data(), sides.data(), coefficients.data(), right.count, right.rows, right.columns, how,
                       false);
        result.store();
    });
}

void solve_gradients(const SolveGradients& to, const Tensor& x, const Tensor& b, const Tensor& mat,
                     const TriangleSeen& how) {
    const Matrices right(b);
    cuda::dispatch_factored(b.dtype, [&](auto sample) {
        using A = decltype(sample);
        const Input<A> coefficients(mat);
        const Input<A> gradients(to.solution);
        const Input<A> cloned(to.cloned);
        const Input<A> solutions(x);
        const Output<A> sides(to.side, b.numel);
        const Output<A> matrices(to.matrix, mat.numel);
        // The adjoint system: the conjugate transpose of the matrix that was solved for.
        const TriangleSeen adjoint{how.is_upper, !how.is_transposed, how.has_ones};
        cuda::solve<A>(sides.data(), gradients.data(), coefficients.data(), right.count, right.rows, right.columns,
                       adjoint, true);
        cuda::find_matrix<A>(matrices.data(), gradients.data() == nullptr ? nullptr : sides.data(), solutions.data(),
                             cloned.data(), right.count, right.rows, right.columns, how);
        sides.store();
        matrices.store();
    });
}

}  // namespace diopigen::core
