// Products of tensors by cuBLASLt where it takes them, else by tiles in shared memory, for all dtypes and strides.
#include "diopi_cuda/blas.h"
#include "product_tiles.h"

namespace diopigen::cuda {

namespace {

// Small results have tiles of 16 by 16: with larger ones most of a tile would be empty.
template <typename A, typename S>
void multiply_as(const Tensor& out, const Tensor& a, const Tensor& b, const Number& alpha, const Number& beta,
                 const Tensor& added) {
    constexpr int64_t kSmall = 32;
    const bool adds = !added.is_null() && beta.value() != 0;
    const ProductSize size{a.shape[1], a.shape[2], b.shape[2], out.shape[0]};
    const MatrixView result(out);
    const MatrixView summand = adds ? MatrixView(added) : result;
    if (size.rows > kSmall && size.columns > kSmall) {
        multiply_tiles<A, S, 64, 4>(result, MatrixView(a), MatrixView(b), summand, adds, size, alpha.as<A>(),
                                    beta.as<A>());
    } else {
        multiply_tiles<A, S, 16, 1>(result, MatrixView(a), MatrixView(b), summand, adds, size, alpha.as<A>(),
                                    beta.as<A>());
    }
}

}  // namespace

void multiply_batch(const Tensor& out, const Tensor& a, const Tensor& b, const Number& alpha, const Number& beta,
                    const Tensor& added) {
    if (out.numel == 0) {
        return;
    }
    for (const Tensor* tensor : {&out, &a, &b, &added}) {
        require_on_device(*tensor);
    }
    const View summand = added.is_null() ? View(Tensor(), {}, {}) : expanded(added, shape_of(out));
    if (multiply_by_blas(out, a, b, alpha, beta, summand.tensor())) {
        return;
    }
    const Dtype computed = compute_of(out.dtype);
    const Dtype common = a.dtype == b.dtype ? a.dtype : Dtype::kUnsupported;
    if (is_complex(computed)) {
        multiply_as<Complex128, void>(out, a, b, alpha, beta, summand.tensor());
    } else if (computed == Dtype::kFloat64) {
        multiply_as<double, void>(out, a, b, alpha, beta, summand.tensor());
    } else if (computed != Dtype::kFloat32) {
        multiply_as<Int64, void>(out, a, b, alpha, beta, summand.tensor());
    } else if (common == Dtype::kFloat16) {
        multiply_as<float, Half>(out, a, b, alpha, beta, summand.tensor());
    } else if (common == Dtype::kBfloat16) {
        multiply_as<float, Bfloat16>(out, a, b, alpha, beta, summand.tensor());
    } else if (common == Dtype::kFloat32) {
        multiply_as<float, float>(out, a, b, alpha, beta, summand.tensor());
    } else {
        multiply_as<float, void>(out, a, b, alpha, beta, summand.tensor());
    }
}

}  // namespace diopigen::cuda

namespace diopigen::core {

void multiply_tensors(const Tensor& out, const Tensor& a, const Tensor& b, Number alpha, Number beta,
                      const Tensor& added) {
    cuda::multiply_batch(out, a, b, alpha, beta, added);
}

}  // namespace diopigen::core
