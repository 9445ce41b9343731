#include "linalg_matmul/batches.h"
#include "linalg_matmul/linalg_matmul_kernels.h"
#include "triangular.h"

namespace diopigen::core {

using namespace cpu;

namespace {

constexpr DtypeSet kSolved = kFloat32 | kFloat64 | kComplex;

}  // namespace

void solve_triangular(const Tensor& out, const Tensor& b, const Tensor& mat, const TriangleSeen& how) {
    const Matrices right(b);
    const Matrices left(mat);
    dispatch_compute<kSolved>(b.dtype, [&](auto sample) {
        using A = Accumulator<decltype(sample)>;
        const Input<A> coefficients(mat);
        const Input<A> sides(b);
        const Output<A> result(out);
        std::copy(sides.data(), sides.data() + b.numel, result.data());
        parallel_for(left.count, row_grain(left.size() * right.columns), [&](int64_t begin, int64_t end) {
            for (int64_t k = begin; k < end; ++k) {
                const Triangle<A> matrix{coefficients.data() + k * left.size(), left.rows, how.is_upper,
                                         how.is_transposed, how.has_ones};
                solve(matrix, result.data() + k * right.size(), right.columns);
            }
        });
        result.store();
    });
}

void solve_gradients(const SolveGradients& to, const Tensor& x, const Tensor& b, const Tensor& mat,
                     const TriangleSeen& how) {
    const Matrices right(b);
    const Matrices left(mat);
    dispatch_compute<kSolved>(b.dtype, [&](auto sample) {
        using A = Accumulator<decltype(sample)>;
        const Input<A> coefficients(mat);
        const Input<A> gradients(to.solution);
        const Input<A> cloned(to.cloned);
        const Input<A> solutions(x);
        const Output<A> sides(to.side, b.numel);
        const Output<A> matrices(to.matrix, mat.numel);
        const int64_t n = left.rows;
        const std::vector<A> adjoint = conjugate(coefficients.data(), mat.numel);
        for (int64_t k = 0; k < left.count; ++k) {
            // The adjoint system: the conjugate transpose of the matrix that was solved for.
            A* side = sides.data() + k * right.size();
            std::fill(side, side + right.size(), A(0));
            if (gradients) {
                const A* from = gradients.data() + k * right.size();
                std::copy(from, from + right.size(), side);
                solve(Triangle<A>{adjoint.data() + k * left.size(), n, how.is_upper, !how.is_transposed, how.has_ones},
                      side, right.columns);
            }
            // Minus the side's gradient times the solution's conjugate, in the triangle that was read.
            const A* solution = solutions.data() + k * right.size();
            A* matrix = matrices.data() + k * left.size();
            for (int64_t i = 0; i < n; ++i) {
                for (int64_t j = 0; j < n; ++j) {
                    const bool is_read = (how.is_upper ? i < j : i > j) || (i == j && !how.has_ones);
                    A sum = cloned ? cloned[k * left.size() + i * n + j] : A(0);
                    const int64_t of_side = how.is_transposed ? j : i;
                    const int64_t of_solution = how.is_transposed ? i : j;
                    for (int64_t c = 0; is_read && gradients && c < right.columns; ++c) {
                        sum = sum - side[of_side * right.columns + c] * conj(solution[of_solution * right.columns + c]);
                    }
                    matrix[i * n + j] = sum;
                }
            }
        }
        sides.store();
        matrices.store();
    });
}

}  // namespace diopigen::core
