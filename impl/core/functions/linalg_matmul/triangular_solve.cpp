// TriangularSolve and its gradients, computed in double or complex<double>.
#include "batches.h"
#include "diopi_core/arguments.h"
#include "kernels.h"
#include "linalg_matmul.h"

using namespace diopi::core;

namespace {

// The library does not broadcast batches: there is one matrix for each right side.
void require_one_batch(const Tensor& mat, const Tensor& b) {
    const Matrices right(b);
    require_shape(mat, right.shape(right.rows, right.rows));
}

}  // namespace

void diopi::kernels::triangular_solve(const TriangularSolveArgs& args) {
    require_one_batch(args.mat, args.b);
    require_apart(args.out, {&args.b, &args.mat, &args.cloned_mat});
    require_apart(args.cloned_mat, {&args.b, &args.mat});
    solve_triangular(args.out, args.b, args.mat, {args.upper, args.transpose, args.unitriangular});
    copy_elements(args.cloned_mat, args.mat);
}

void diopi::kernels::triangular_solve_backward(const TriangularSolveBackwardArgs& args) {
    require_one_batch(args.mat, args.b);
    require_apart(args.grad_b, {&args.grad_x, &args.grad_cloned_mat, &args.x, &args.b, &args.mat, &args.grad_mat});
    require_apart(args.grad_mat, {&args.grad_x, &args.grad_cloned_mat, &args.x, &args.b, &args.mat});
    const SolveGradients gradients{args.grad_b, args.grad_mat, args.grad_x, args.grad_cloned_mat};
    solve_gradients(gradients, args.x, args.b, args.mat, {args.upper, args.transpose, args.unitriangular});
}
