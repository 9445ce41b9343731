// Computations with sparse matrices on the device: products, sums, and dense tensors of them. Matrices are PyTorch's:
// in coordinates (COO), and in compressed rows and columns (CSR, CSC). Products call diopiSpMM, everything else
// operates on the indices and the values.
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_coalesce_ops.h>
#include <ATen/ops/_sparse_compressed_tensor_unsafe.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_and_tensors.h>
#include <ATen/ops/_sparse_mask_projection_ops.h>
#include <ATen/ops/_sparse_sparse_matmul_ops.h>
#include <ATen/ops/_to_dense_ops.h>
#include <ATen/ops/_to_sparse_csr_ops.h>
#include <ATen/ops/_to_sparse_ops.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isin.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/sparse_mask_ops.h>
#include <ATen/ops/sparse_sampled_addmm_ops.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Layout.h>
#include <diopi/functions_sparse.h>
#include <diopigen_torch/compressed_rows.h>
#include <diopigen_torch/kernel.h>

namespace diopigen::backend {

namespace {

bool is_compressed(const at::Tensor& tensor) {
    return tensor.layout() == at::kSparseCsr || tensor.layout() == at::kSparseCsc;
}

// ---- Indices -------------------------------------------------------------------------------------------------------

// Counts the `indices`, each below `count`, that are below 0, 1, ... `count`.
at::Tensor counted_below(const at::Tensor& indices, int64_t count) {
    at::Tensor counts = at::zeros({count + 1}, indices.options());
    counts.index_add_(0, indices.add(1), at::ones({1}, indices.options()).expand_as(indices));
    return counts.cumsum(0);
}

// The row of each entry: as many rows but the first start before it, or with it.
at::Tensor rows_of(const at::Tensor& starts, int64_t stored) {
    return counted_below(starts.slice(0, 1, -1), stored + 1).slice(0, 1, stored + 1);
}

// The entries of a matrix or tensor: indices [sparse dimensions, entries] in int64, and values.
struct Entries {
    at::Tensor indices;
    at::Tensor values;
};

Entries entries_of(const at::Tensor& tensor) {
    if (tensor.layout() == at::kSparse) {
        return {tensor._indices(), tensor._values()};
    }
    TORCH_CHECK_NOT_IMPLEMENTED(is_compressed(tensor) && tensor.dim() == 2, c10::get_privateuse1_backend(),
                                " has sparse matrices in coordinates, compressed rows and compressed columns, got ",
                                tensor.layout(), " with ", tensor.dim(), " dimensions: move it to the CPU with cpu()");
    const at::SparseCsrTensorImpl& impl = *at::sparse_csr::get_sparse_csr_impl(tensor);
    const at::Tensor plain = impl.plain_indices().to(at::kLong);
    const at::Tensor expanded = rows_of(impl.compressed_indices().to(at::kLong), plain.numel());
    const bool by_rows = tensor.layout() == at::kSparseCsr;
    return {at::stack({by_rows ? expanded : plain, by_rows ? plain : expanded}), impl.values()};
}

// Positions of the entries in a tensor whose sparse dimensions are one.
at::Tensor flat_indices(const at::Tensor& indices, at::IntArrayRef sizes) {
    if (indices.size(0) == 0) {
        return at::zeros({indices.size(1)}, indices.options());
    }
    at::Tensor flat = indices.select(0, 0);
    for (int64_t i = 1; i < indices.size(0); ++i) {
        flat = flat.mul(sizes[static_cast<size_t>(i)]).add(indices.select(0, i));
    }
    return flat;
}

// A dense tensor of the same sizes whose sparse dimensions are one.
at::Tensor flattened(const at::Tensor& dense, int64_t sparse_dims) {
    return sparse_dims == 0 ? dense.unsqueeze(0) : dense.flatten(0, sparse_dims - 1);
}

// ---- Products ------------------------------------------------------------------------------------------------------

struct Rows {
    at::Tensor starts;
    at::Tensor columns;
    at::Tensor values;
};

// The matrix in compressed rows, or the transpose of it.
Rows rows_of_matrix(const at::Tensor& matrix, bool transpose) {
    if (is_compressed(matrix) && matrix.dim() == 2 && (matrix.layout() == at::kSparseCsr) != transpose) {
        const at::SparseCsrTensorImpl& impl = *at::sparse_csr::get_sparse_csr_impl(matrix);
        return {impl.compressed_indices(), impl.plain_indices(), impl.values()};
    }
    const Entries entries = entries_of(matrix);
    const int64_t row = transpose ? 1 : 0;
    const auto [sorted, order] = at::sort(entries.indices.select(0, row), /*stable=*/true, 0, /*descending=*/false);
    return {counted_below(sorted, matrix.size(row)), entries.indices.select(0, 1 - row).index_select(0, order),
            entries.values.index_select(0, order)};
}

bool has_entries(const at::Tensor& matrix) { return matrix._nnz() != 0; }

// For products that neither interface nor vendor has: entry by entry, added in the dtype of the result.
at::Tensor& add_products(at::Tensor& out, const at::Tensor& sparse, bool transpose, const at::Tensor& dense) {
    const Entries entries = entries_of(sparse);
    const at::Tensor factors = dense.index_select(0, entries.indices.select(0, transpose ? 0 : 1));
    const at::Tensor products = entries.values.unsqueeze(1).mul(factors);
    return out.zero_().index_add_(0, entries.indices.select(0, transpose ? 1 : 0), products);
}

// The product of a sparse matrix, or of its transpose, and a dense one.
at::Tensor sparse_times_dense(const at::Tensor& sparse, bool transpose, const at::Tensor& dense) {
    at::Tensor out = at::empty({sparse.size(transpose ? 1 : 0), dense.size(1)}, dense.options());
    if (out.numel() == 0 || !has_entries(sparse)) {
        return out.zero_();
    }
    if (!is_in(kFloating, out.scalar_type())) {
        return add_products(out, sparse, transpose, dense);
    }
    const Rows rows = rows_of_matrix(sparse, transpose);
    const at::Tensor matrix = at::detail::make_tensor<CompressedRows>(
        rows.starts.contiguous(), rows.columns.contiguous(), rows.values.contiguous(),
        at::IntArrayRef({out.size(0), dense.size(0)}));
    Call call(dense);
    try {
        call("diopiSpMM", diopiSpMM, Output(out), Input(call, matrix), Input(call, dense));
    } catch (const FallbackRequested&) {
        return add_products(out, sparse, transpose, dense);
    }
    return out;
}

// Entry by entry of the first matrix, times the row of the second that has the number of its column; in the layout of
// the first.
at::Tensor sparse_times_sparse(const at::Tensor& self, const at::Tensor& mat2) {
    const Entries left = entries_of(self);
    const Rows right = rows_of_matrix(mat2, /*transpose=*/false);
    const at::Tensor starts = right.starts.to(at::kLong);
    const at::Tensor column = left.indices.select(0, 1);
    const at::Tensor first = starts.index_select(0, column);
    const at::Tensor counts = starts.index_select(0, column.add(1)).sub(first);
    const at::Tensor entry = at::repeat_interleave(counts);
    const at::Tensor shift = first.sub(counts.cumsum(0).sub(counts)).index_select(0, entry);
    const at::Tensor other = at::arange(entry.size(0), entry.options()).add(shift);
    const at::Tensor indices = at::stack(
        {left.indices.select(0, 0).index_select(0, entry), right.columns.to(at::kLong).index_select(0, other)});
    const at::Tensor values = left.values.index_select(0, entry).mul(right.values.index_select(0, other));
    const at::Tensor product =
        at::_sparse_coo_tensor_with_dims_and_tensors(2, 0, {self.size(0), mat2.size(1)}, indices, values,
                                                     values.options().layout(at::kSparse), /*is_coalesced=*/false)
            .coalesce();
    if (self.layout() == at::kSparse) {
        return product;
    }
    return self.layout() == at::kSparseCsr ? product.to_sparse_csr() : product.t().to_sparse_csr().t();
}

at::Tensor mm(const at::Tensor& self, const at::Tensor& mat2) {
    TORCH_CHECK(self.dim() == 2 && mat2.dim() == 2 && self.size(1) == mat2.size(0),
                "mat1 and mat2 shapes cannot be multiplied (", self.sizes(), " and ", mat2.sizes(), ")");
    TORCH_CHECK(self.scalar_type() == mat2.scalar_type(),
                "expected mat1 and mat2 to have the same dtype, but got: ", self.scalar_type(),
                " != ", mat2.scalar_type());
    const bool is_left = self.layout() != at::kStrided;
    for (const at::Tensor& each : {self, mat2}) {
        TORCH_CHECK_NOT_IMPLEMENTED(each.layout() == at::kStrided || each.dense_dim() == 0,
                                    "mm: ", c10::get_privateuse1_backend(),
                                    " does not multiply matrices with dense dimensions");
    }
    if (is_left && mat2.layout() != at::kStrided) {
        return sparse_times_sparse(self, mat2);
    }
    return is_left ? sparse_times_dense(self, /*transpose=*/false, mat2)
                   : sparse_times_dense(mat2, /*transpose=*/true, self.t()).t();
}

at::Tensor dense(const at::Tensor& matrix) { return matrix.layout() == at::kStrided ? matrix : matrix.to_dense(); }

at::Tensor addmm(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2, const at::Scalar& beta,
                 const at::Scalar& alpha) {
    TORCH_CHECK_NOT_IMPLEMENTED(self.layout() == at::kStrided, "addmm: ", c10::get_privateuse1_backend(),
                                " adds products to dense tensors only");
    const at::Tensor product = dense(backend::mm(mat1, mat2));
    if (beta.toComplexDouble() == 0.0) {
        return alpha.equal(1) ? product : product.mul(alpha);
    }
    return self.mul(beta).expand_as(product).add(product, alpha);
}

at::Tensor& written(at::Tensor& out, const at::Tensor& result) {
    TORCH_CHECK(out.layout() == at::kStrided && out.scalar_type() == result.scalar_type(), "Expected out tensor to be ",
                "dense with dtype ", result.scalar_type(), ", but got ", out.layout(), " with ", out.scalar_type());
    at::native::resize_output(out, result.sizes());
    return out.copy_(result);
}

at::Tensor& mm_out(const at::Tensor& self, const at::Tensor& mat2, at::Tensor& out) {
    return written(out, dense(backend::mm(self, mat2)));
}

at::Tensor& addmm_out(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2, const at::Scalar& beta,
                      const at::Scalar& alpha, at::Tensor& out) {
    return written(out, backend::addmm(self, mat1, mat2, beta, alpha));
}

at::Tensor& addmm_inplace(at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2, const at::Scalar& beta,
                          const at::Scalar& alpha) {
    return self.copy_(backend::addmm(self, mat1, mat2, beta, alpha));
}

// The gradient of the values of a matrix in compressed rows: entries of the product of two dense matrices.
at::Tensor sampled(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2, const at::Scalar& beta,
                   const at::Scalar& alpha) {
    for (const at::Tensor& other : {mat1, mat2}) {
        TORCH_CHECK(other.dim() == 2, "sampled_addmm: Expected mat1 and mat2 to be matrices, got a ", other.dim(),
                    "-D tensor");
        TORCH_CHECK(other.scalar_type() == self.scalar_type(), "sampled_addmm: expected matrices of one dtype, found ",
                    self.scalar_type(), " and ", other.scalar_type());
    }
    TORCH_CHECK(mat1.size(1) == mat2.size(0), "sampled_addmm: mat1 and mat2 shapes cannot be multiplied (",
                mat1.sizes(), " and ", mat2.sizes(), ")");
    TORCH_CHECK(self.size(0) == mat1.size(0) && self.size(1) == mat2.size(1), "sampled_addmm: the product has shape [",
                mat1.size(0), ", ", mat2.size(1), "], and self has shape ", self.sizes());
    const Entries entries = entries_of(self);
    const at::Tensor left = mat1.index_select(0, entries.indices.select(0, 0));
    const at::Tensor right = mat2.t().index_select(0, entries.indices.select(0, 1));
    const at::Tensor values = entries.values.mul(beta).add(left.mul(right).sum(1), alpha);
    const at::SparseCsrTensorImpl& impl = *at::sparse_csr::get_sparse_csr_impl(self);
    return at::_sparse_compressed_tensor_unsafe(impl.compressed_indices(), impl.plain_indices(), values, self.sizes(),
                                                self.options());
}

// ---- Sums ----------------------------------------------------------------------------------------------------------

at::Tensor sparse_tensor(const at::Tensor& like, const at::Tensor& indices, const at::Tensor& values,
                         bool is_coalesced) {
    return at::_sparse_coo_tensor_with_dims_and_tensors(like.sparse_dim(), like.dense_dim(), like.sizes(), indices,
                                                        values, like.options().dtype(values.scalar_type()),
                                                        is_coalesced);
}

// Entries in the order of their indices, those of one index added.
at::Tensor coalesce(const at::Tensor& self) {
    const at::Tensor indices = self._indices();
    const at::Tensor values = self._values();
    if (indices.size(1) < 2) {
        return sparse_tensor(self, indices.clone(), values.clone(), /*is_coalesced=*/true);
    }
    const auto [sorted, order] =
        at::sort(flat_indices(indices, self.sizes()), /*stable=*/true, 0, /*descending=*/false);
    const at::Tensor is_new =
        at::cat({at::ones({1}, sorted.options().dtype(at::kBool)), sorted.slice(0, 1).ne(sorted.slice(0, 0, -1))});
    const at::Tensor first = is_new.nonzero().squeeze(1);
    at::DimVector size(values.sizes());
    size[0] = first.size(0);
    at::Tensor sums = at::zeros(size, values.options());
    sums.index_add_(0, is_new.to(at::kLong).cumsum(0).sub(1), values.index_select(0, order));
    return sparse_tensor(self, indices.index_select(1, order.index_select(0, first)), sums, /*is_coalesced=*/true);
}

at::Tensor& add_to_dense(at::Tensor& dense, const at::Tensor& sparse, const at::Scalar& alpha) {
    TORCH_CHECK(dense.sizes() == sparse.sizes(), "add: expected 'self' and 'other' to have same size, but self has ",
                dense.sizes(), " and other has ", sparse.sizes());
    if (!has_entries(sparse)) {
        return dense;
    }
    const Entries entries = entries_of(sparse);
    const at::Tensor flat = flat_indices(entries.indices, sparse.sizes());
    const at::Tensor values = entries.values.to(dense.scalar_type());
    at::Tensor target = dense.contiguous();
    flattened(target, entries.indices.size(0)).index_add_(0, flat, values, alpha);
    return target.is_same(dense) ? dense : dense.copy_(target);
}

at::Tensor to_dense(const at::Tensor& self, std::optional<at::ScalarType> dtype, std::optional<bool> /*masked_grad*/) {
    at::Tensor out = at::zeros(self.sizes(), self.options().layout(at::kStrided));
    add_to_dense(out, self, 1);
    return dtype.has_value() ? out.to(*dtype) : out;
}

at::Tensor add(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        other.layout() == at::kSparse, "add: ", c10::get_privateuse1_backend(),
        " adds sparse tensors in coordinates, as the second operand or as both: make the first one dense "
        "with to_dense()");
    TORCH_CHECK(self.sizes() == other.sizes(), "add: expected sizes of 'self' and 'other' to match, but ", self.sizes(),
                " != ", other.sizes());
    if (self.layout() == at::kStrided) {
        at::Tensor sum = self.to(c10::promoteTypes(self.scalar_type(), other.scalar_type()), /*non_blocking=*/false,
                                 /*copy=*/true);
        return add_to_dense(sum, other, alpha);
    }
    TORCH_CHECK_NOT_IMPLEMENTED(self.layout() == at::kSparse && self.sparse_dim() == other.sparse_dim() &&
                                    self.scalar_type() == other.scalar_type(),
                                "add: ", c10::get_privateuse1_backend(),
                                " adds sparse tensors with the same sparse dimensions and dtype");
    const at::Tensor added = alpha.equal(1) ? other._values() : other._values().mul(alpha);
    return sparse_tensor(self, at::cat({self._indices(), other._indices()}, 1), at::cat({self._values(), added}),
                         /*is_coalesced=*/false);
}

at::Tensor& add_inplace(at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
    if (self.layout() == at::kStrided && other.layout() == at::kSparse) {
        return add_to_dense(self, other, alpha);
    }
    return self.copy_(backend::add(self, other, alpha));
}

// Values of a tensor in coordinates at the given indices, 0 where it has no entry.
at::Tensor values_at(const at::Tensor& self, const at::Tensor& indices) {
    const at::Tensor sorted = self.coalesce();
    const at::Tensor own = flat_indices(sorted._indices(), self.sizes());
    const at::Tensor flat = flat_indices(indices, self.sizes());
    if (own.numel() == 0) {
        return at::zeros({flat.numel()}, self._values().options());
    }
    const at::Tensor position = at::searchsorted(own, flat).clamp_max(own.numel() - 1);
    return sorted._values().index_select(0, position).mul(own.index_select(0, position).eq(flat));
}

// Elements of a tensor at the entries of `mask`.
at::Tensor masked(const at::Tensor& self, const at::Tensor& mask) {
    const bool is_dense = self.layout() == at::kStrided;
    TORCH_CHECK_NOT_IMPLEMENTED(is_dense || (self.layout() == at::kSparse && self.dense_dim() == 0),
                                "sparse_mask: ", c10::get_privateuse1_backend(),
                                " takes entries of dense tensors, and of sparse ones in coordinates");
    TORCH_CHECK(self.sizes() == mask.sizes(), "sparse_mask(): operands have incompatible sizes; self has size ",
                self.sizes(), " but mask has size ", mask.sizes());
    const Entries entries = entries_of(mask);
    const at::Tensor values =
        is_dense ? flattened(self, entries.indices.size(0)).index_select(0, flat_indices(entries.indices, mask.sizes()))
                 : values_at(self, entries.indices);
    if (mask.layout() == at::kSparse) {
        return sparse_tensor(mask, entries.indices, values, mask.is_coalesced());
    }
    const at::SparseCsrTensorImpl& impl = *at::sparse_csr::get_sparse_csr_impl(mask);
    return at::_sparse_compressed_tensor_unsafe(impl.compressed_indices(), impl.plain_indices(), values, mask.sizes(),
                                                mask.options().dtype(values.scalar_type()));
}

// The entries of a tensor in coordinates where `mask` has entries too.
at::Tensor projected(const at::Tensor& self, const at::Tensor& mask, bool adds_matches) {
    TORCH_CHECK_NOT_IMPLEMENTED(!adds_matches || mask.is_coalesced(),
                                "_sparse_mask_projection: ", c10::get_privateuse1_backend(),
                                " needs a mask that is coalesced");
    const at::Tensor is_in =
        at::isin(flat_indices(self._indices(), self.sizes()), flat_indices(mask._indices(), mask.sizes()));
    const at::Tensor selected = is_in.nonzero().squeeze(1);
    return sparse_tensor(self, self._indices().index_select(1, selected), self._values().index_select(0, selected),
                         self.is_coalesced());
}

// ---- Layouts -------------------------------------------------------------------------------------------------------

// From compressed rows to coordinates.
at::Tensor to_coordinates(const at::Tensor& self, std::optional<at::Layout> layout, at::OptionalIntArrayRef blocksize,
                          std::optional<int64_t> dense_dim) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        layout.value_or(at::kSparse) == at::kSparse && !blocksize.has_value() && dense_dim.value_or(0) == 0,
        "to_sparse: ", c10::get_privateuse1_backend(), " converts compressed matrices to coordinates only");
    const Entries entries = entries_of(self);
    return at::_sparse_coo_tensor_with_dims_and_tensors(2, 0, self.sizes(), entries.indices, entries.values,
                                                        self.options().layout(at::kSparse),
                                                        self.layout() == at::kSparseCsr);
}

// From coordinates to compressed rows.
at::Tensor to_rows(const at::Tensor& self, std::optional<int64_t> dense_dim) {
    TORCH_CHECK_NOT_IMPLEMENTED(self.sparse_dim() == 2 && self.dense_dim() == 0 && dense_dim.value_or(0) == 0,
                                "to_sparse_csr: ", c10::get_privateuse1_backend(), " converts matrices only");
    const Rows rows = rows_of_matrix(self.coalesce(), /*transpose=*/false);
    return at::_sparse_compressed_tensor_unsafe(rows.starts, rows.columns, rows.values, self.sizes(),
                                                self.options().layout(at::kSparseCsr));
}

at::Tensor dense_to_rows(const at::Tensor& self, std::optional<int64_t> dense_dim) {
    return backend::to_rows(self.to_sparse(2), dense_dim);
}

const KernelLibrary kDense(c10::DispatchKey::PrivateUse1, [](KernelLibrary& library) {
    implement<at::_ops::_to_sparse_csr, &dense_to_rows>(library);
});

void implement_for_matrices(KernelLibrary& library) {
    implement<at::_ops::mm, &mm>(library);
    implement<at::_ops::mm_out, &mm_out>(library);
    implement<at::_ops::addmm, &addmm>(library);
    implement<at::_ops::addmm_out, &addmm_out>(library);
    implement<at::_ops::addmm_, &addmm_inplace>(library);
    implement<at::_ops::_to_dense, &to_dense>(library);
    implement<at::_ops::sparse_mask, &masked>(library);
}

const KernelLibrary kCoordinates(c10::DispatchKey::SparsePrivateUse1, [](KernelLibrary& library) {
    implement<at::_ops::_coalesce, &coalesce>(library);
    implement<at::_ops::_to_sparse_csr, &to_rows>(library);
    implement<at::_ops::_sparse_mask_projection, &projected>(library);
    implement<at::_ops::_sparse_sparse_matmul, &sparse_times_sparse>(library);
    implement<at::_ops::add_Tensor, &add>(library);
    implement<at::_ops::add__Tensor, &add_inplace>(library);
    implement_for_matrices(library);
});

const KernelLibrary kCompressed(c10::DispatchKey::SparseCsrPrivateUse1, [](KernelLibrary& library) {
    implement<at::_ops::_to_sparse, &to_coordinates>(library);
    implement<at::_ops::sparse_sampled_addmm, &sampled>(library);
    implement_for_matrices(library);
});

}  // namespace

}  // namespace diopigen::backend
