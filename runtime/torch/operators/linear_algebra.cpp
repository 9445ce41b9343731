// Products and systems of vectors and matrices that have no meta function of PyTorch, and distances.
#include <ATen/ExpandUtils.h>
#include <ATen/OpMathType.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/compose.h>

#include <numeric>
#include <utility>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

constexpr Dtypes kSolved = kFloat32 | kFloat64;

void require_rows(const at::Tensor& first, const at::Tensor& second, double p) {
    const bool same_batch = first.dim() == second.dim() && first.dim() >= 2 && first.size(-1) == second.size(-1) &&
                            first.sizes().slice(0, first.dim() - 2) == second.sizes().slice(0, first.dim() - 2);
    if (!same_batch || first.numel() == 0 || second.numel() == 0 || !(p >= 0)) {
        fall_back("PyTorch has rules of its own for this");
    }
}

// x of mat x = b, or of the transpose of mat.
at::Tensor solved(const at::Tensor& mat, const at::Tensor& b, bool upper, bool transpose, bool ones) {
    const bool is_system = mat.dim() >= 2 && b.dim() >= 2 && mat.size(-1) == mat.size(-2) &&
                           mat.size(-1) == b.size(-2) && mat.scalar_type() == b.scalar_type();
    if (!is_system || !is_in(kSolved, b.scalar_type())) {
        fall_back("PyTorch rejects this");
    }
    const at::DimVector batch(at::infer_size(mat.sizes().slice(0, mat.dim() - 2), b.sizes().slice(0, b.dim() - 2)));
    at::DimVector size = batch;
    size.append({mat.size(-1), mat.size(-1)});
    const at::Tensor factor = mat.expand(size).contiguous();
    size.back() = b.size(-1);
    const at::Tensor right = b.expand(size).contiguous();
    at::Tensor out = at::empty(size, b.options());
    if (out.numel() != 0) {
        at::Tensor copy = at::empty_like(factor);
        Call call(b);
        call("diopiTriangularSolve", diopiTriangularSolve, Output(out), Output(copy), Input(call, right),
             Input(call, factor), upper, transpose, ones);
    }
    return out;
}

// Factors of integers are whole numbers in the interface, and cut off by PyTorch.
void require_whole(const at::Tensor& like, const at::Scalar& beta, const at::Scalar& alpha) {
    if (!like.is_floating_point() && !(beta.isIntegral(true) && alpha.isIntegral(true))) {
        fall_back("factors that are cut off");
    }
}

// The order of rows after the exchanges that `pivots` lists, or its inverse. Each exchange depends on those before, so
// the host follows them.
at::Tensor rows_of(const at::Tensor& pivots, int64_t size, bool is_inverse) {
    const at::Tensor exchanged = pivots.to(at::kCPU).contiguous();
    const int64_t count = pivots.size(-1);
    at::DimVector shape(pivots.sizes().slice(0, pivots.dim() - 1));
    shape.push_back(size);
    at::Tensor rows = at::empty(shape, at::kLong);
    for (int64_t matrix = 0; matrix < rows.numel() / size; ++matrix) {
        const int32_t* const other = exchanged.const_data_ptr<int32_t>() + matrix * count;
        int64_t* const order = rows.mutable_data_ptr<int64_t>() + matrix * size;
        std::iota(order, order + size, 0);
        for (int64_t row = 0; row < count; ++row) {
            TORCH_CHECK(other[row] >= 1 && other[row] <= size, "pivots are out of the range from 1 to ", size);
            std::swap(order[row], order[other[row] - 1]);
        }
    }
    return (is_inverse ? at::argsort(rows, /*dim=*/int64_t{-1}, /*descending=*/false) : rows).to(pivots.device());
}

}  // namespace

at::Tensor cdist_forward(const at::Tensor& x1, const at::Tensor& x2, double p, std::optional<int64_t> compute_mode) {
    require_rows(x1, x2, p);
    require_same_dtype(x1, x2);
    at::DimVector size(x1.sizes().slice(0, x1.dim() - 1));
    size.push_back(x2.size(-2));
    Call call(x1);
    const Input first(call, x1, kFloat32 | kFloat64);
    const Input second(call, x2, x1.scalar_type());
    at::Tensor out = at::empty(size, x1.options());
    call("diopiCdist", diopiCdist, Output(out), first, second, p, Optional<int64_t>(compute_mode));
    return out;
}

at::Tensor cdist_backward(const at::Tensor& grad, const at::Tensor& x1, const at::Tensor& x2, double p,
                          const at::Tensor& cdist) {
    require_rows(x1, x2, p);
    Call call(x1);
    const Input first(call, x1, kFloat32 | kFloat64);
    const Input second(call, x2, x1.scalar_type());
    at::Tensor out = at::empty_like(x1, at::MemoryFormat::Contiguous);
    call("diopiCdistBackward", diopiCdistBackward, Output(out), Input(call, grad), first, second, p,
         Input(call, cdist));
    return out;
}

at::Tensor dot(const at::Tensor& self, const at::Tensor& tensor) {
    if (self.dim() != 1 || tensor.dim() != 1 || self.scalar_type() != tensor.scalar_type() ||
        self.numel() != tensor.numel() || self.device() != tensor.device()) {
        fall_back("PyTorch rejects this");
    }
    at::Tensor out = at::empty({}, self.options());
    Call call(self);
    call("diopiMatmul", diopiMatmul, Output(out), Input(call, self, kNumber), Input(call, tensor));
    return out;
}

at::Tensor vdot(const at::Tensor& self, const at::Tensor& other) { return kernels::dot(self, other); }

void addmv(at::Tensor& out, const at::Tensor& self, const at::Tensor& mat, const at::Tensor& vec,
           const at::Scalar& beta, const at::Scalar& alpha) {
    if (out.numel() == 0) {
        return;
    }
    require_whole(out, beta, alpha);
    const at::Tensor added = self.expand(out.sizes()).unsqueeze(1);
    put(out, added.addmm(mat, vec.unsqueeze(1), beta, alpha).squeeze(1));
}

void baddbmm(at::Tensor& out, const at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2,
             const at::Scalar& beta, const at::Scalar& alpha) {
    require_whole(out, beta, alpha);
    require_same_dtype(batch1, self);
    require_same_dtype(batch1, batch2);
    require_fits(at::toOpMathType(out.scalar_type()), beta);
    require_fits(at::toOpMathType(out.scalar_type()), alpha);
    Call call(out);
    Output written(out);
    const Input left(call, batch1, out.scalar_type(), kNumber | kComplex);
    call("diopiBaddbmm", diopiBaddbmm, written, Input(call, self), left, Input(call, batch2, out.scalar_type()),
         beta.to<double>(), alpha.to<double>());
    written.finish();
}

at::Tensor addbmm(const at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2, const at::Scalar& beta,
                  const at::Scalar& alpha) {
    if (batch1.dim() != 3 || batch2.dim() != 3 || batch1.size(0) != batch2.size(0) ||
        batch1.size(2) != batch2.size(1)) {
        fall_back("PyTorch rejects this");
    }
    require_whole(self, beta, alpha);
    // The sum of products is the product of the concatenated matrices.
    const int64_t inner = batch1.size(0) * batch1.size(2);
    const at::Tensor left = batch1.transpose(0, 1).reshape({batch1.size(1), inner});
    const at::Tensor right = batch2.reshape({inner, batch2.size(2)});
    return self.expand({batch1.size(1), batch2.size(2)}).addmm(left, right, beta, alpha);
}

at::Tensor linalg_solve_triangular(const at::Tensor& self, const at::Tensor& B, bool upper, bool left,
                                   bool unitriangular) {
    return left ? solved(self, B, upper, /*transpose=*/false, unitriangular)
                : solved(self, B.mT(), upper, /*transpose=*/true, unitriangular).mT();
}

at::Tensor cholesky(const at::Tensor& self, bool upper) {
    if (self.dim() < 2 || self.size(-1) != self.size(-2) || self.numel() == 0 || !is_in(kSolved, self.scalar_type())) {
        fall_back("PyTorch rejects this, or has a rule of its own for it");
    }
    at::Tensor out = at::empty_like(self, at::MemoryFormat::Contiguous);
    at::Tensor info = at::empty(self.sizes().slice(0, self.dim() - 2), self.options().dtype(at::kInt));
    Call call(self);
    call("diopiCholesky", diopiCholesky, Output(out), Output(info), Input(call, self), upper, false);
    if (info.ne(0).any().item<bool>()) {
        fall_back("PyTorch says which matrix is not positive definite");
    }
    return out;
}

at::Tensor cholesky_solve_helper(const at::Tensor& self, const at::Tensor& A, bool upper) {
    const at::Tensor half = solved(A, self, upper, /*transpose=*/upper, false);
    return solved(A, half, upper, /*transpose=*/!upper, false);
}

at::Tensor cholesky_inverse(const at::Tensor& self, bool upper) {
    if (self.dim() < 2 || self.size(-1) != self.size(-2) || self.numel() == 0) {
        fall_back("PyTorch rejects this, or has a rule of its own for it");
    }
    if (self.diagonal(0, -2, -1).eq(0).any().item<bool>()) {
        fall_back("PyTorch says which element of the diagonal is zero");
    }
    at::Tensor identity = at::empty(self.sizes(), self.options()).zero_();
    identity.diagonal(0, -2, -1).fill_(1);
    return cholesky_solve_helper(identity, self, upper);
}

// The product of k reflections I - tau v v^T is I - V T V^T, where T is (I + diag(tau) U)^-1 diag(tau), and U the part
// of V^T V above its diagonal (the compact WY form): no reflection waits for another one.
at::Tensor linalg_householder_product(const at::Tensor& input, const at::Tensor& tau) {
    const int64_t columns = input.dim() < 2 ? 0 : input.size(-1);
    const bool is_product = input.dim() >= 2 && tau.dim() == input.dim() - 1 && input.size(-2) >= columns &&
                            columns >= tau.size(-1) && input.scalar_type() == tau.scalar_type() &&
                            input.sizes().slice(0, input.dim() - 2) == tau.sizes().slice(0, tau.dim() - 1);
    if (!is_product || !is_in(kSolved, input.scalar_type())) {
        fall_back("PyTorch rejects this, or has a rule of its own for it");
    }
    at::Tensor out = at::empty(input.sizes(), input.options()).zero_();
    out.diagonal(0, -2, -1).fill_(1);
    if (out.numel() == 0 || tau.size(-1) == 0) {
        return out;
    }
    const at::Tensor vectors = input.narrow(-1, 0, tau.size(-1)).tril(-1);
    vectors.diagonal(0, -2, -1).fill_(1);
    const at::Tensor factors = tau.unsqueeze(-1);
    const at::Tensor coupled = vectors.mT().matmul(vectors).triu(1).mul(factors);
    const at::Tensor first = vectors.mT().narrow(-1, 0, columns).mul(factors);
    return out.sub_(vectors.matmul(solved(coupled, first, /*upper=*/true, /*transpose=*/false, /*ones=*/true)));
}

void linalg_lu_solve(at::Tensor& out, const at::Tensor& factors, const at::Tensor& pivots, const at::Tensor& B,
                     bool left, bool adjoint) {
    if (!is_in(kSolved, out.scalar_type())) {
        fall_back_for_dtype(out.scalar_type());
    }
    if (out.numel() == 0) {
        return;
    }
    at::Tensor x = (left ? B : B.mT()).expand(left ? out.sizes() : out.mT().sizes());
    const at::Tensor rows =
        rows_of(pivots, factors.size(-1), /*is_inverse=*/left == adjoint).unsqueeze(-1).expand_as(x);
    if (left != adjoint) {
        x = solved(factors, x.gather(-2, rows), /*upper=*/false, /*transpose=*/false, /*ones=*/true);
        x = solved(factors, x, /*upper=*/true, /*transpose=*/false, /*ones=*/false);
    } else {
        x = solved(factors, x, /*upper=*/true, /*transpose=*/true, /*ones=*/false);
        x = solved(factors, x, /*upper=*/false, /*transpose=*/true, /*ones=*/true).gather(-2, rows);
    }
    put(out, left ? x : x.mT());
}

void linalg_cross(at::Tensor& out, const at::Tensor& self, const at::Tensor& other, int64_t dim) {
    TORCH_CHECK(self.scalar_type() == other.scalar_type(), "linalg.cross: expected scalar type ", self.scalar_type(),
                " but found ", other.scalar_type());
    const at::Tensor first = self.expand(out.sizes());
    const at::Tensor second = other.expand(out.sizes());
    put(out, first.roll(-1, dim).mul(second.roll(-2, dim)).sub(first.roll(-2, dim).mul(second.roll(-1, dim))));
}

}  // namespace diopigen::backend::kernels
