// TriangularSolve and its gradients, computed in double or complex<double>.
#include <diopi/functions.h>

#include "batches.h"
#include "triangular.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kSolved = kFloat32 | kFloat64 | kComplex;

}  // namespace

DIOPI_API diopiError_t diopiTriangularSolve(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                            diopiTensorHandle_t cloned_mat, diopiConstTensorHandle_t b,
                                            diopiConstTensorHandle_t mat, bool upper, bool transpose,
                                            bool unitriangular) {
    return guarded("diopiTriangularSolve", [&] {
        const Tensor out_tensor = tensor("out", out, kSolved);
        const Tensor cloned_tensor = tensor("cloned_mat", cloned_mat, kSolved);
        const Tensor b_tensor = tensor("b", b, kSolved);
        const Tensor mat_tensor = tensor("mat", mat, kSolved);
        const Matrices right(b_tensor);
        const Matrices left = square_matrices(mat_tensor);
        require_shape(mat_tensor, right.shape(right.rows, right.rows));
        require_same_dtype(mat_tensor, b_tensor);
        require_same_dtype(out_tensor, b_tensor);
        require_same_dtype(cloned_tensor, mat_tensor);
        require_same_shape(out_tensor, b_tensor);
        require_same_shape(cloned_tensor, mat_tensor);
        check_written(out_tensor, {&b_tensor, &mat_tensor, &cloned_tensor});
        check_written(cloned_tensor, {&b_tensor, &mat_tensor});
        dispatch_compute<kSolved>(b_tensor.dtype, [&](auto sample) {
            using A = Accumulator<decltype(sample)>;
            const Input<A> coefficients(mat_tensor);
            const Input<A> sides(b_tensor);
            const Output<A> result(out_tensor);
            std::copy(sides.data(), sides.data() + b_tensor.numel, result.data());
            parallel_for(left.count, row_grain(left.size() * right.columns), [&](int64_t begin, int64_t end) {
                for (int64_t k = begin; k < end; ++k) {
                    const Triangle<A> matrix{coefficients.data() + k * left.size(), left.rows, upper, transpose,
                                             unitriangular};
                    solve(matrix, result.data() + k * right.size(), right.columns);
                }
            });
            result.store();
        });
        copy_elements(cloned_tensor, mat_tensor);
    });
}

DIOPI_API diopiError_t diopiTriangularSolveBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_b,
                                                    diopiTensorHandle_t grad_mat, diopiConstTensorHandle_t grad_x,
                                                    diopiConstTensorHandle_t grad_cloned_mat,
                                                    diopiConstTensorHandle_t x, diopiConstTensorHandle_t b,
                                                    diopiConstTensorHandle_t mat, bool upper, bool transpose,
                                                    bool unitriangular) {
    return guarded("diopiTriangularSolveBackward", [&] {
        const Tensor grad_b_tensor = optional_tensor("grad_b", grad_b, kSolved);
        const Tensor grad_mat_tensor = optional_tensor("grad_mat", grad_mat, kSolved);
        const Tensor grad_x_tensor = optional_tensor("grad_x", grad_x, kSolved);
        const Tensor grad_cloned_tensor = optional_tensor("grad_cloned_mat", grad_cloned_mat, kSolved);
        const Tensor x_tensor = tensor("x", x, kSolved);
        const Tensor b_tensor = tensor("b", b, kSolved);
        const Tensor mat_tensor = tensor("mat", mat, kSolved);
        const Matrices right(b_tensor);
        const Matrices left = square_matrices(mat_tensor);
        require_shape(mat_tensor, right.shape(right.rows, right.rows));
        for (const Tensor* same : {&grad_b_tensor, &grad_x_tensor, &x_tensor}) {
            require_same_shape(*same, b_tensor);
        }
        require_same_shape(grad_mat_tensor, mat_tensor);
        require_same_shape(grad_cloned_tensor, mat_tensor);
        for (const Tensor* other :
             {&grad_b_tensor, &grad_mat_tensor, &grad_x_tensor, &grad_cloned_tensor, &x_tensor, &mat_tensor}) {
            require_same_dtype(*other, b_tensor);
        }
        check_written(grad_b_tensor, {&grad_x_tensor, &grad_cloned_tensor, &x_tensor, &b_tensor, &mat_tensor});
        check_written(grad_mat_tensor,
                      {&grad_x_tensor, &grad_cloned_tensor, &x_tensor, &b_tensor, &mat_tensor, &grad_b_tensor});
        dispatch_compute<kSolved>(b_tensor.dtype, [&](auto sample) {
            using A = Accumulator<decltype(sample)>;
            const Input<A> coefficients(mat_tensor);
            const Input<A> gradients(grad_x_tensor);
            const Input<A> cloned(grad_cloned_tensor);
            const Input<A> solutions(x_tensor);
            const Output<A> sides(grad_b_tensor, b_tensor.numel);
            const Output<A> matrices(grad_mat_tensor, mat_tensor.numel);
            const int64_t n = left.rows;
            const std::vector<A> adjoint = conjugate(coefficients.data(), mat_tensor.numel);
            for (int64_t k = 0; k < left.count; ++k) {
                // The adjoint system: the conjugate transpose of the matrix that was solved for.
                A* side = sides.data() + k * right.size();
                std::fill(side, side + right.size(), A(0));
                if (gradients) {
                    const A* from = gradients.data() + k * right.size();
                    std::copy(from, from + right.size(), side);
                    solve(Triangle<A>{adjoint.data() + k * left.size(), n, upper, !transpose, unitriangular}, side,
                          right.columns);
                }
                // Minus the side's gradient times the solution's conjugate, in the triangle that was read.
                const A* solution = solutions.data() + k * right.size();
                A* matrix = matrices.data() + k * left.size();
                for (int64_t i = 0; i < n; ++i) {
                    for (int64_t j = 0; j < n; ++j) {
                        const bool is_read = (upper ? i < j : i > j) || (i == j && !unitriangular);
                        A sum = cloned ? cloned[k * left.size() + i * n + j] : A(0);
                        const int64_t of_side = transpose ? j : i;
                        const int64_t of_solution = transpose ? i : j;
                        for (int64_t c = 0; is_read && gradients && c < right.columns; ++c) {
                            sum = sum -
                                  side[of_side * right.columns + c] * conj(solution[of_solution * right.columns + c]);
                        }
                        matrix[i * n + j] = sum;
                    }
                }
            }
            sides.store();
            matrices.store();
        });
    });
}
