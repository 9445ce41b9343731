// Cholesky and its gradient, computed in double or complex<double>.
#include <diopi/functions.h>

#include <cmath>

#include "batches.h"
#include "triangular.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kFactored = kFloat32 | kFloat64 | kComplex;

// Writes the lower factor of the matrix whose lower triangle `at(i, j)` gives; the rest of `factor` is zero already.
// Returns 0, or the order of the first leading minor that is not positive definite.
template <typename A, typename At>
int64_t factorize(At&& at, int64_t n, A* factor) {
    for (int64_t j = 0; j < n; ++j) {
        const A* pivot_row = factor + j * n;
        double pivot = real(at(j, j));
        for (int64_t k = 0; k < j; ++k) {
            pivot -= std::norm(pivot_row[k]);
        }
        if (!(pivot > 0)) {
            return j + 1;
        }
        pivot = std::sqrt(pivot);
        factor[j * n + j] = A(pivot);
        for (int64_t i = j + 1; i < n; ++i) {
            A* row = factor + i * n;
            A sum = at(i, j);
            for (int64_t k = 0; k < j; ++k) {
                sum = sum - row[k] * conj(pivot_row[k]);
            }
            row[j] = sum / pivot;
        }
    }
    return 0;
}

}  // namespace

DIOPI_API diopiError_t diopiCholesky(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiTensorHandle_t info,
                                     diopiConstTensorHandle_t mat, bool upper, bool checkerror) {
    return guarded("diopiCholesky", [&] {
        const Tensor out_tensor = tensor("out", out, kFactored);
        const Tensor info_tensor = tensor("info", info, kInt32);
        const Tensor mat_tensor = tensor("mat", mat, kFactored);
        const Matrices matrices = square_matrices(mat_tensor);
        require_same_dtype(out_tensor, mat_tensor);
        require_same_shape(out_tensor, mat_tensor);
        require_shape(info_tensor, matrices.batch);
        check_written(out_tensor, {&mat_tensor, &info_tensor});
        check_written(info_tensor, {&mat_tensor});
        dispatch_compute<kFactored>(mat_tensor.dtype, [&](auto sample) {
            using A = Accumulator<decltype(sample)>;
            const int64_t n = matrices.rows;
            const Input<A> data(mat_tensor);
            std::vector<A> factors(static_cast<size_t>(mat_tensor.numel), A(0));
            std::vector<int64_t> failures(static_cast<size_t>(matrices.count));
            parallel_for(matrices.count, row_grain(n * n * n), [&](int64_t begin, int64_t end) {
                for (int64_t k = begin; k < end; ++k) {
                    const A* matrix = data.data() + k * matrices.size();
                    const auto at = [&](int64_t i, int64_t j) {
                        return upper ? conj(matrix[j * n + i]) : matrix[i * n + j];
                    };
                    failures[k] = factorize(at, n, factors.data() + k * matrices.size());
                }
            });
            if (checkerror) {
                for (int64_t k = 0; k < matrices.count; ++k) {
                    if (failures[k] != 0) {
                        fail("parameter 'mat' holds a matrix that is not positive definite: matrix " +
                             std::to_string(k) + ", leading minor of order " + std::to_string(failures[k]));
                    }
                }
            }
            const Output<A> result(out_tensor);
            const Output<Int32> states(info_tensor);
            for (int64_t k = 0; k < matrices.count; ++k) {
                states[k] = Int32(failures[k]);
                const A* factor = factors.data() + k * matrices.size();
                for (int64_t i = 0; i < n; ++i) {
                    for (int64_t j = 0; j < n; ++j) {
                        result[k * n * n + i * n + j] = upper ? conj(factor[j * n + i]) : factor[i * n + j];
                    }
                }
            }
            result.store();
            states.store();
        });
    });
}

DIOPI_API diopiError_t diopiCholeskyBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_mat,
                                             diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t L,
                                             bool upper) {
    return guarded("diopiCholeskyBackward", [&] {
        const Tensor grad_mat_tensor = tensor("grad_mat", grad_mat, kFactored);
        const Tensor grad_output_tensor = tensor("grad_output", grad_output, kFactored);
        const Tensor factor_tensor = tensor("L", L, kFactored);
        const Matrices matrices = square_matrices(factor_tensor);
        for (const Tensor* other : {&grad_mat_tensor, &grad_output_tensor}) {
            require_same_dtype(*other, factor_tensor);
            require_same_shape(*other, factor_tensor);
        }
        check_written(grad_mat_tensor, {&grad_output_tensor, &factor_tensor});
        dispatch_compute<kFactored>(factor_tensor.dtype, [&](auto sample) {
            using A = Accumulator<decltype(sample)>;
            const int64_t n = matrices.rows;
            const Input<A> factors(factor_tensor);
            const Input<A> gradients(grad_output_tensor);
            const Output<A> result(grad_mat_tensor);
            parallel_for(matrices.count, row_grain(n * n * n), [&](int64_t begin, int64_t end) {
                for (int64_t k = begin; k < end; ++k) {
                    // Both as lower triangles.
                    std::vector<A> lower(static_cast<size_t>(n * n), A(0));
                    std::vector<A> gradient(static_cast<size_t>(n * n), A(0));
                    for (int64_t i = 0; i < n; ++i) {
                        for (int64_t j = 0; j <= i; ++j) {
                            const int64_t at = k * n * n + (upper ? j * n + i : i * n + j);
                            lower[i * n + j] = upper ? conj(factors[at]) : factors[at];
                            gradient[i * n + j] = upper ? conj(gradients[at]) : gradients[at];
                        }
                    }
                    // The lower triangle of L^H times the gradient, mirrored at its diagonal.
                    std::vector<A> middle(static_cast<size_t>(n * n), A(0));
                    for (int64_t i = 0; i < n; ++i) {
                        for (int64_t j = 0; j <= i; ++j) {
                            A sum(0);
                            for (int64_t m = i; m < n; ++m) {
                                sum = sum + conj(lower[m * n + i]) * gradient[m * n + j];
                            }
                            middle[j * n + i] = conj(sum);
                            middle[i * n + j] = sum;
                        }
                    }
                    // L^-H middle L^-1 / 2: two systems with L^H, the second one for the conjugate transpose.
                    const std::vector<A> adjoint = conjugate(lower.data(), n * n);
                    const Triangle<A> system{adjoint.data(), n, false, true, false};
                    solve(system, middle.data(), n);
                    std::vector<A> turned = transpose(middle.data(), n, n, true);
                    solve(system, turned.data(), n);
                    for (int64_t i = 0; i < n; ++i) {
                        for (int64_t j = 0; j < n; ++j) {
                            result[(k * n + i) * n + j] = conj(turned[j * n + i]) / A(2);
                        }
                    }
                }
            });
            result.store();
        });
    });
}
