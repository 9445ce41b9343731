// Cholesky and its gradient, computed in double or complex<double>.
#include <diopi/functions.h>

#include "batches.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kFactored = kFloat32 | kFloat64 | kComplex;

}  // namespace

std::string diopi::cpu::indefinite_text(int64_t matrix, int64_t order) {
    return "parameter 'mat' holds a matrix that is not positive definite: matrix " + std::to_string(matrix) +
           ", leading minor of order " + std::to_string(order);
}

DIOPI_API diopiError_t diopiCholesky(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiTensorHandle_t info,
                                     diopiConstTensorHandle_t mat, bool upper, bool checkerror) {
    return guarded("diopiCholesky", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFactored);
        const Tensor info_tensor = tensor("info", info, kInt32);
        const Tensor mat_tensor = tensor("mat", mat, kFactored);
        const Matrices matrices = square_matrices(mat_tensor);
        require_same_dtype(out_tensor, mat_tensor);
        require_same_shape(out_tensor, mat_tensor);
        require_shape(info_tensor, matrices.batch);
        check_written(out_tensor, {&mat_tensor, &info_tensor});
        check_written(info_tensor, {&mat_tensor});
        factorize(out_tensor, info_tensor, mat_tensor, upper, checkerror);
    });
}

DIOPI_API diopiError_t diopiCholeskyBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_mat,
                                             diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t L,
                                             bool upper) {
    return guarded("diopiCholeskyBackward", ctx, [&] {
        const Tensor grad_mat_tensor = tensor("grad_mat", grad_mat, kFactored);
        const Tensor grad_output_tensor = tensor("grad_output", grad_output, kFactored);
        const Tensor factor_tensor = tensor("L", L, kFactored);
        const Matrices matrices = square_matrices(factor_tensor);
        for (const Tensor* other : {&grad_mat_tensor, &grad_output_tensor}) {
            require_same_dtype(*other, factor_tensor);
            require_same_shape(*other, factor_tensor);
        }
        check_written(grad_mat_tensor, {&grad_output_tensor, &factor_tensor});
        factor_gradient(grad_mat_tensor, grad_output_tensor, factor_tensor, upper);
    });
}
