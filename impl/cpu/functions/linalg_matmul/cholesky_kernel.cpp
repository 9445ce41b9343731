#include <cmath>

#include "linalg_matmul/batches.h"
#include "linalg_matmul/linalg_matmul_kernels.h"
#include "triangular.h"

namespace diopigen::core {

using namespace cpu;

namespace {

constexpr DtypeSet kFactored = kFloat32 | kFloat64 | kComplex;

// Writes the lower factor of the matrix whose lower triangle `at(i, j)` gives; the rest of `factor` is zero already.
// Returns 0, or the order of the first leading minor that is not positive definite.
template <typename A, typename At>
int64_t factorize_one(At&& at, int64_t n, A* factor) {
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

void factorize(const Tensor& out, const Tensor& info, const Tensor& mat, bool upper, bool is_checked) {
    const Matrices matrices(mat);
    dispatch_compute<kFactored>(mat.dtype, [&](auto sample) {
        using A = Accumulator<decltype(sample)>;
        const int64_t n = matrices.rows;
        const Input<A> data(mat);
        std::vector<A> factors(static_cast<size_t>(mat.numel), A(0));
        std::vector<int64_t> failures(static_cast<size_t>(matrices.count));
        parallel_for(matrices.count, row_grain(n * n * n), [&](int64_t begin, int64_t end) {
            for (int64_t k = begin; k < end; ++k) {
                const A* matrix = data.data() + k * matrices.size();
                const auto at = [&](int64_t i, int64_t j) {
                    return upper ? conj(matrix[j * n + i]) : matrix[i * n + j];
                };
                failures[k] = factorize_one(at, n, factors.data() + k * matrices.size());
            }
        });
        if (is_checked) {
            for (int64_t k = 0; k < matrices.count; ++k) {
                if (failures[k] != 0) {
                    fail(indefinite_text(k, failures[k]));
                }
            }
        }
        const Output<A> result(out);
        const Output<Int32> states(info);
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
}

void factor_gradient(const Tensor& grad_mat, const Tensor& grad_output, const Tensor& factor, bool upper) {
    const Matrices matrices(factor);
    dispatch_compute<kFactored>(factor.dtype, [&](auto sample) {
        using A = Accumulator<decltype(sample)>;
        const int64_t n = matrices.rows;
        const Input<A> factors(factor);
        const Input<A> gradients(grad_output);
        const Output<A> result(grad_mat);
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
                std::vector<A> transposed = transpose(middle.data(), n, n, true);
                solve(system, transposed.data(), n);
                for (int64_t i = 0; i < n; ++i) {
                    for (int64_t j = 0; j < n; ++j) {
                        result[(k * n + i) * n + j] = conj(transposed[j * n + i]) / A(2);
                    }
                }
            }
        });
        result.store();
    });
}

}  // namespace diopigen::core
