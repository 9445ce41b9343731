// Cholesky and its gradient, computed in double or complex<double>.
#include "batches.h"
#include "diopi_core/arguments.h"
#include "linalg_matmul.h"
#include "linalg_matmul_kernels.h"

using namespace diopigen::core;

std::string diopigen::core::indefinite_text(int64_t matrix, int64_t order) {
    return "parameter 'mat' holds a matrix that is not positive definite: matrix " + std::to_string(matrix) +
           ", leading minor of order " + std::to_string(order);
}

void diopigen::entry::cholesky(const CholeskyArgs& args) {
    require_shape(args.info, Matrices(args.mat).batch);
    require_apart(args.out, {&args.mat, &args.info});
    require_apart(args.info, {&args.mat});
    factorize(args.out, args.info, args.mat, args.upper, args.checkerror);
}

void diopigen::entry::cholesky_backward(const CholeskyBackwardArgs& args) {
    require_apart(args.grad_mat, {&args.grad_output, &args.L});
    factor_gradient(args.grad_mat, args.grad_output, args.L, args.upper);
}
