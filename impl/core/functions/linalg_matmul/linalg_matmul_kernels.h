// What products of matrices do to elements, other than the products.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_LINALG_MATMUL_LINALG_MATMUL_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_LINALG_MATMUL_LINALG_MATMUL_KERNELS_H_

#include "diopi_core/tensor.h"

namespace diopigen::core {

// The sum over all dimensions but the last.
void sum_rows(const Tensor& sums, const Tensor& tensor);

// ---- Distances between two sets of points each, in batches, for float32 and float64. ----

void find_distances(const Tensor& out, const Tensor& first, const Tensor& second, double order);
// The gradient of the first points.
void find_distance_gradient(const Tensor& result_tensor, const Tensor& gradient_tensor, const Tensor& first,
                            const Tensor& second, const Tensor& distances, double order);

// ---- Factors of matrices in batches, for float32, float64 and complex dtypes, computed in double. ----

// The Cholesky factor, and 0 or the order of the first leading minor that is not positive definite. Where `is_checked`
// holds, such a matrix is rejected before anything is written.
void factorize(const Tensor& out, const Tensor& info, const Tensor& mat, bool upper, bool is_checked);
std::string indefinite_text(int64_t matrix, int64_t order);
void factor_gradient(const Tensor& grad_mat, const Tensor& grad_output, const Tensor& factor, bool upper);

// Householder's reflections, with the signs of LAPACK's geqrf. `q_out` is written where it is requested.
void reflect(const Tensor& q_out, const Tensor& r_out, const Tensor& input, bool needs_q);

// ---- Triangular systems: which triangle of a matrix is read, and how. ----

struct TriangleSeen {
    bool is_upper;
    bool is_transposed;
    bool has_ones;
};

void solve_triangular(const Tensor& out, const Tensor& b, const Tensor& mat, const TriangleSeen& how);

// What is written, and what arrives; each may be null.
struct SolveGradients {
    const Tensor& side;
    const Tensor& matrix;
    const Tensor& solution;
    const Tensor& cloned;
};
void solve_gradients(const SolveGradients& to, const Tensor& x, const Tensor& b, const Tensor& mat,
                     const TriangleSeen& how);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_LINALG_MATMUL_LINALG_MATMUL_KERNELS_H_
