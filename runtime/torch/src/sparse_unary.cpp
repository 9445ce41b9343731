// Functions of one operand that map 0 to 0, on sparse tensors: PyTorch's own kernels, which call those of the device on
// the stored values.
#include <ATen/ops/abs_native.h>
#include <ATen/ops/asin_native.h>
#include <ATen/ops/asinh_native.h>
#include <ATen/ops/atan_native.h>
#include <ATen/ops/atanh_native.h>
#include <ATen/ops/ceil_native.h>
#include <ATen/ops/deg2rad_native.h>
#include <ATen/ops/erf_native.h>
#include <ATen/ops/erfinv_native.h>
#include <ATen/ops/expm1_native.h>
#include <ATen/ops/floor_native.h>
#include <ATen/ops/frac_native.h>
#include <ATen/ops/log1p_native.h>
#include <ATen/ops/neg_native.h>
#include <ATen/ops/rad2deg_native.h>
#include <ATen/ops/relu_native.h>
#include <ATen/ops/round_native.h>
#include <ATen/ops/sgn_native.h>
#include <ATen/ops/sign_native.h>
#include <ATen/ops/sin_native.h>
#include <ATen/ops/sinh_native.h>
#include <ATen/ops/sqrt_native.h>
#include <ATen/ops/tan_native.h>
#include <ATen/ops/tanh_native.h>
#include <ATen/ops/trunc_native.h>
#include <torch/library.h>

namespace diopigen::backend {

namespace {

// The functional, in-place and out forms of one function. `coo_out` is the kernel of the out form for COO.
#define DIOPI_SPARSE_UNARY(name, coo_out)                       \
    coo.impl(#name, at::native::name##_sparse);                 \
    coo.impl(#name "_", at::native::name##_sparse_);            \
    coo.impl(#name ".out", at::native::coo_out);                \
    compressed.impl(#name, at::native::name##_sparse_csr);      \
    compressed.impl(#name "_", at::native::name##_sparse_csr_); \
    compressed.impl(#name ".out", at::native::name##_sparse_csr_out);

void implement(torch::Library& coo, torch::Library& compressed) {
    DIOPI_SPARSE_UNARY(abs, abs_sparse_out)
    DIOPI_SPARSE_UNARY(asin, asin_sparse_out)
    DIOPI_SPARSE_UNARY(asinh, asinh_sparse_out)
    DIOPI_SPARSE_UNARY(atan, atan_sparse_out)
    DIOPI_SPARSE_UNARY(atanh, atanh_sparse_out)
    DIOPI_SPARSE_UNARY(ceil, ceil_sparse_out)
    DIOPI_SPARSE_UNARY(deg2rad, deg2rad_sparse_out)
    DIOPI_SPARSE_UNARY(erf, erf_sparse_out)
    DIOPI_SPARSE_UNARY(erfinv, erfinv_sparse_out)
    DIOPI_SPARSE_UNARY(expm1, expm1_sparse_out)
    DIOPI_SPARSE_UNARY(floor, floor_sparse_out)
    DIOPI_SPARSE_UNARY(frac, frac_sparse_out)
    DIOPI_SPARSE_UNARY(log1p, log1p_sparse_out)
    DIOPI_SPARSE_UNARY(neg, neg_out_sparse)
    DIOPI_SPARSE_UNARY(rad2deg, rad2deg_sparse_out)
    DIOPI_SPARSE_UNARY(round, round_sparse_out)
    DIOPI_SPARSE_UNARY(sgn, sgn_sparse_out)
    DIOPI_SPARSE_UNARY(sign, sign_sparse_out)
    DIOPI_SPARSE_UNARY(sin, sin_sparse_out)
    DIOPI_SPARSE_UNARY(sinh, sinh_sparse_out)
    DIOPI_SPARSE_UNARY(sqrt, sqrt_sparse_out)
    DIOPI_SPARSE_UNARY(tan, tan_sparse_out)
    DIOPI_SPARSE_UNARY(tanh, tanh_sparse_out)
    DIOPI_SPARSE_UNARY(trunc, trunc_sparse_out)
    coo.impl("relu", at::native::relu_sparse);
    coo.impl("relu_", at::native::relu_sparse_);
    compressed.impl("relu", at::native::relu_sparse_csr);
    compressed.impl("relu_", at::native::relu_sparse_csr_);
}

#undef DIOPI_SPARSE_UNARY

const bool is_implemented = [] {
    static torch::Library coo(torch::Library::IMPL, "aten", c10::DispatchKey::SparsePrivateUse1, __FILE__, __LINE__);
    static torch::Library compressed(torch::Library::IMPL, "aten", c10::DispatchKey::SparseCsrPrivateUse1, __FILE__,
                                     __LINE__);
    implement(coo, compressed);
    return true;
}();

}  // namespace

}  // namespace diopigen::backend
