// Forms of an operator that are derived from another one: results that are made go to the tensors of the caller.
#ifndef DIOPIGEN_TORCH_FORMS_H_
#define DIOPIGEN_TORCH_FORMS_H_

#include <ATen/core/Tensor.h>

namespace diopigen::backend {

/// Writes `result` to `out`, a tensor of the caller, which is resized as PyTorch does. Falls back for other dtypes:
/// PyTorch has rules of its own for them. A result that is not made leaves `out` as it is.
at::Tensor& give(at::Tensor& out, const at::Tensor& result);

/// Writes `result` to `self`, which has the shape and the dtype of it. Falls back for other ones.
at::Tensor& give_inplace(at::Tensor& self, const at::Tensor& result);

/// Destination of a result that the operator creates or the caller provides: an undefined `out` is created, another one
/// is resized. Its dtype stays what it is.
void make_or_resize(at::Tensor& out, at::IntArrayRef sizes, const at::TensorOptions& options);

/// The same; another dtype is rejected.
void make_or_shape(at::Tensor& out, at::IntArrayRef sizes, const at::TensorOptions& options);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_FORMS_H_
