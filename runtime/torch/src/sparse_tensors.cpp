// Sparse tensors as such: PyTorch's own functions make, copy and transpose them, over dense tensors of the device.
#include <ATen/ops/_coalesced_native.h>
#include <ATen/ops/_indices_native.h>
#include <ATen/ops/_nnz_native.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_and_tensors_native.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_native.h>
#include <ATen/ops/_to_sparse_native.h>
#include <ATen/ops/_values_native.h>
#include <ATen/ops/ccol_indices_native.h>
#include <ATen/ops/clone_native.h>
#include <ATen/ops/col_indices_native.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/copy_sparse_to_sparse_native.h>
#include <ATen/ops/crow_indices_native.h>
#include <ATen/ops/dense_dim_native.h>
#include <ATen/ops/empty_like_native.h>
#include <ATen/ops/empty_native.h>
#include <ATen/ops/indices_native.h>
#include <ATen/ops/is_coalesced_native.h>
#include <ATen/ops/mv_native.h>
#include <ATen/ops/permute_native.h>
#include <ATen/ops/row_indices_native.h>
#include <ATen/ops/sparse_dim_native.h>
#include <ATen/ops/sparse_resize_and_clear_native.h>
#include <ATen/ops/sparse_resize_native.h>
#include <ATen/ops/values_native.h>
#include <ATen/ops/zero_native.h>
#include <torch/library.h>

namespace diopigen::backend {

namespace {

at::Tensor dense_to_sparse(const at::Tensor& self, std::optional<at::Layout> layout, at::OptionalIntArrayRef blocksize,
                           std::optional<int64_t> dense_dim) {
    return at::native::dense_to_sparse(self, layout, blocksize, dense_dim);
}

at::Tensor dense_to_sparse_dims(const at::Tensor& self, int64_t sparse_dim) {
    return at::native::dense_to_sparse(self, sparse_dim);
}

at::Tensor sparse_to_sparse(const at::Tensor& self, std::optional<at::Layout> layout, at::OptionalIntArrayRef blocksize,
                            std::optional<int64_t> dense_dim) {
    return at::native::sparse_coo_to_sparse(self, layout, blocksize, dense_dim);
}

at::Tensor sparse_to_sparse_dims(const at::Tensor& self, int64_t sparse_dim) {
    return at::native::sparse_coo_to_sparse(self, sparse_dim);
}

at::Tensor times_vector(const at::Tensor& self, const at::Tensor& vector) {
    return self.matmul(vector.unsqueeze(-1)).squeeze(-1);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
    library.impl("_to_sparse", dense_to_sparse);
    library.impl("_to_sparse.sparse_dim", dense_to_sparse_dims);
}

TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, library) {
    library.impl("_sparse_coo_tensor_with_dims", at::native::new_with_dims_sparse);
    library.impl("_sparse_coo_tensor_with_dims_and_tensors", at::native::new_with_dims_and_tensor_sparse_symint);
    library.impl("_indices", at::native::_indices_sparse);
    library.impl("_values", at::native::_values_sparse);
    library.impl("indices", at::native::indices_sparse);
    library.impl("values", at::native::values_sparse);
    library.impl("_nnz", at::native::_nnz_sparse);
    library.impl("is_coalesced", at::native::is_coalesced_sparse);
    library.impl("_coalesced_", at::native::_coalesced_sparse_);
    library.impl("sparse_dim", at::native::sparse_dim_sparse);
    library.impl("dense_dim", at::native::dense_dim_sparse);
    library.impl("sparse_resize_", at::native::sparse_resize_);
    library.impl("sparse_resize_and_clear_", at::native::sparse_resize_and_clear_);
    library.impl("copy_sparse_to_sparse_", at::native::copy_sparse_);
    library.impl("copy_", at::native::copy_sparse_wrapper_);
    library.impl("clone", at::native::clone_sparse);
    library.impl("empty.memory_format", at::native::empty_sparse);
    library.impl("empty_like", at::native::empty_like_sparse_coo);
    library.impl("zero_", at::native::zero_sparse_);
    library.impl("permute", at::native::permute_sparse_coo);
    library.impl("mv", at::native::mv_sparse);
    library.impl("_to_sparse", sparse_to_sparse);
    library.impl("_to_sparse.sparse_dim", sparse_to_sparse_dims);
}

TORCH_LIBRARY_IMPL(aten, SparseCsrPrivateUse1, library) {
    library.impl("crow_indices", at::native::crow_indices_sparse_csr);
    library.impl("col_indices", at::native::col_indices_sparse_csr);
    library.impl("ccol_indices", at::native::ccol_indices_sparse_csr);
    library.impl("row_indices", at::native::row_indices_sparse_csr);
    library.impl("values", at::native::values_sparse_csr);
    library.impl("_nnz", at::native::_nnz_sparse_csr);
    library.impl("sparse_dim", at::native::sparse_dim_sparse_csr);
    library.impl("dense_dim", at::native::dense_dim_sparse_csr);
    library.impl("copy_", at::native::copy_sparse_compressed_);
    library.impl("clone", at::native::clone_sparse_compressed);
    library.impl("empty_like", at::native::empty_like_sparse_csr);
    library.impl("zero_", at::native::zero_sparse_csr_);
    library.impl("mv", times_vector);
}

}  // namespace

}  // namespace diopigen::backend
