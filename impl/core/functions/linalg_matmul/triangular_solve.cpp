// TriangularSolve and its gradients, computed in double or complex<double>. Batches broadcast.
#include "batches.h"
#include "diopi_core/arguments.h"
#include "diopi_core/raw_elements.h"
#include "linalg_matmul.h"
#include "linalg_matmul_kernels.h"
#include "reduction/reduction_kernels.h"

using namespace diopigen::core;

namespace {

View batch_of(const Tensor& tensor) {
    const int64_t rank = tensor.rank - 2;
    return View(tensor, {tensor.shape, tensor.shape + rank}, {tensor.strides, tensor.strides + rank});
}

// The shape of a tensor of matrices that is broadcast to a batch.
std::vector<int64_t> batched(std::vector<int64_t> batch, const Tensor& tensor) {
    batch.insert(batch.end(), {tensor.shape[tensor.rank - 2], tensor.shape[tensor.rank - 1]});
    return batch;
}

// `out` gets the sum of `full` over the dimensions in which it was broadcast.
void sum_to(const Tensor& out, const Tensor& full) {
    const int64_t added = full.rank - out.rank;
    std::vector<int64_t> dims;
    for (int64_t i = 0; i < full.rank; ++i) {
        if (i < added || out.shape[i - added] != full.shape[i]) {
            dims.push_back(i);
        }
    }
    if (dims.empty()) {
        copy_elements(out, full);
    } else {
        reduce_sum(out, full, rows_over(full, "dims", {dims.data(), static_cast<int64_t>(dims.size())}));
    }
}

// A gradient of all systems of a batch, where one of `out` is wanted.
struct FullGradient {
    FullGradient(const Tensor& out, const std::vector<int64_t>& shape) : out(out) {
        if (!out.is_null()) {
            full.emplace(shape, out.dtype, out);
        }
    }
    Tensor tensor() const { return full ? full->tensor() : Tensor(); }
    void store() const {
        if (full) {
            sum_to(out, full->tensor());
        }
    }

    const Tensor& out;
    std::optional<Temporary> full;
};

}  // namespace

void diopigen::entry::triangular_solve(const TriangularSolveArgs& args) {
    require_apart(args.out, {&args.b, &args.mat, &args.cloned_mat});
    require_apart(args.cloned_mat, {&args.b, &args.mat});
    const std::vector<int64_t> batch = broadcast_shape(batch_of(args.mat).tensor(), batch_of(args.b).tensor());
    const View sides = expanded(args.b, batched(batch, args.b));
    const View coefficients = expanded(args.mat, batched(batch, args.mat));
    solve_triangular(args.out, sides.tensor(), coefficients.tensor(), {args.upper, args.transpose, args.unitriangular});
    copy_elements(args.cloned_mat, args.mat);
}

void diopigen::entry::triangular_solve_backward(const TriangularSolveBackwardArgs& args) {
    require_apart(args.grad_b, {&args.grad_x, &args.grad_cloned_mat, &args.x, &args.b, &args.mat, &args.grad_mat});
    require_apart(args.grad_mat, {&args.grad_x, &args.grad_cloned_mat, &args.x, &args.b, &args.mat});
    const TriangleSeen how{args.upper, args.transpose, args.unitriangular};
    const std::vector<int64_t> batch = broadcast_shape(batch_of(args.mat).tensor(), batch_of(args.b).tensor());
    const View sides = expanded(args.b, batched(batch, args.b));
    const View coefficients = expanded(args.mat, batched(batch, args.mat));
    const FullGradient side(args.grad_b, shape_of(sides.tensor()));
    const FullGradient matrix(args.grad_mat, shape_of(coefficients.tensor()));
    std::optional<Temporary> clones;
    if (!args.grad_cloned_mat.is_null()) {
        // The gradient of one copy of a matrix that serves several systems counts once.
        clones.emplace(shape_of(coefficients.tensor()), args.mat.dtype, args.mat);
        const Tensor& each = clones->tensor();
        fill(each, Number::of(0));
        const Tensor& cloned = args.grad_cloned_mat;
        const int64_t* const last = each.strides + each.rank;
        copy_elements(View(each, shape_of(cloned), {last - cloned.rank, last}).tensor(), cloned);
    }
    const Tensor side_tensor = side.tensor();
    const Tensor matrix_tensor = matrix.tensor();
    const Tensor cloned = clones ? clones->tensor() : Tensor();
    solve_gradients({side_tensor, matrix_tensor, args.grad_x, cloned}, args.x, sides.tensor(), coefficients.tensor(),
                    how);
    side.store();
    matrix.store();
}
