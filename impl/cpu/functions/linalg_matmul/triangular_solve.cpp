// TriangularSolve and its gradients, computed in double or complex<double>.
#include <diopi/functions.h>

#include "batches.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kSolved = kFloat32 | kFloat64 | kComplex;

}  // namespace

DIOPI_API diopiError_t diopiTriangularSolve(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                            diopiTensorHandle_t cloned_mat, diopiConstTensorHandle_t b,
                                            diopiConstTensorHandle_t mat, bool upper, bool transpose,
                                            bool unitriangular) {
    return guarded("diopiTriangularSolve", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kSolved);
        const Tensor cloned_tensor = tensor("cloned_mat", cloned_mat, kSolved);
        const Tensor b_tensor = tensor("b", b, kSolved);
        const Tensor mat_tensor = tensor("mat", mat, kSolved);
        const Matrices right(b_tensor);
        require_shape(mat_tensor, right.shape(right.rows, right.rows));
        require_same_dtype(mat_tensor, b_tensor);
        require_same_dtype(out_tensor, b_tensor);
        require_same_dtype(cloned_tensor, mat_tensor);
        require_same_shape(out_tensor, b_tensor);
        require_same_shape(cloned_tensor, mat_tensor);
        check_written(out_tensor, {&b_tensor, &mat_tensor, &cloned_tensor});
        check_written(cloned_tensor, {&b_tensor, &mat_tensor});
        solve_triangular(out_tensor, b_tensor, mat_tensor, {upper, transpose, unitriangular});
        copy_elements(cloned_tensor, mat_tensor);
    });
}

DIOPI_API diopiError_t diopiTriangularSolveBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_b,
                                                    diopiTensorHandle_t grad_mat, diopiConstTensorHandle_t grad_x,
                                                    diopiConstTensorHandle_t grad_cloned_mat,
                                                    diopiConstTensorHandle_t x, diopiConstTensorHandle_t b,
                                                    diopiConstTensorHandle_t mat, bool upper, bool transpose,
                                                    bool unitriangular) {
    return guarded("diopiTriangularSolveBackward", ctx, [&] {
        const Tensor grad_b_tensor = optional_tensor("grad_b", grad_b, kSolved);
        const Tensor grad_mat_tensor = optional_tensor("grad_mat", grad_mat, kSolved);
        const Tensor grad_x_tensor = optional_tensor("grad_x", grad_x, kSolved);
        const Tensor grad_cloned_tensor = optional_tensor("grad_cloned_mat", grad_cloned_mat, kSolved);
        const Tensor x_tensor = tensor("x", x, kSolved);
        const Tensor b_tensor = tensor("b", b, kSolved);
        const Tensor mat_tensor = tensor("mat", mat, kSolved);
        const Matrices right(b_tensor);
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
        const SolveGradients gradients{grad_b_tensor, grad_mat_tensor, grad_x_tensor, grad_cloned_tensor};
        solve_gradients(gradients, x_tensor, b_tensor, mat_tensor, {upper, transpose, unitriangular});
    });
}
