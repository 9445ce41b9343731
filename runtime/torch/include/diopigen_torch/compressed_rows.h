// The sparse matrix that a handle of the interface refers to: compressed rows (CSR).
#ifndef DIOPIGEN_TORCH_COMPRESSED_ROWS_H_
#define DIOPIGEN_TORCH_COMPRESSED_ROWS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>

#include <utility>

namespace diopigen::backend {

/// Three dense tensors under one handle. Not PyTorch's own class for them, which warns once that it is in beta, also
/// where a script has none. No operator of PyTorch sees it.
class CompressedRows final : public c10::TensorImpl {
  public:
    CompressedRows(at::Tensor starts, at::Tensor columns, at::Tensor values, at::IntArrayRef size)
        : c10::TensorImpl(values.is_cpu() ? c10::DispatchKey::SparseCsrCPU : c10::DispatchKey::SparseCsrPrivateUse1,
                          values.dtype(), values.device()),
          starts_(std::move(starts)),
          columns_(std::move(columns)),
          values_(std::move(values)) {
        sizes_and_strides_.set_sizes(size);
        refresh_numel();
        set_storage_access_should_throw();
    }

    /// Int32 or int64, rows + 1 elements: the number of entries before each row.
    const at::Tensor& starts() const { return starts_; }
    /// Of the dtype of `starts`: the column of each entry.
    const at::Tensor& columns() const { return columns_; }
    const at::Tensor& values() const { return values_; }

  private:
    at::Layout layout_impl() const override { return at::kSparseCsr; }

    at::Tensor starts_;
    at::Tensor columns_;
    at::Tensor values_;
};

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_COMPRESSED_ROWS_H_
