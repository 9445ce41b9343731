// Shared by the functions of diopirt.h and of diopigen/host.h: handles, and arrays of sizes.
#ifndef DIOPIGEN_TORCH_HANDLES_H_
#define DIOPIGEN_TORCH_HANDLES_H_

#include <ATen/core/Tensor.h>
#include <diopigen_torch/compressed_rows.h>
#include <diopigen_torch/context.h>

#include "failure.h"

namespace diopigen::backend {

inline at::IntArrayRef array_of(const diopiSize_t& size) { return {size.data, static_cast<size_t>(size.len)}; }

inline diopiSize_t sizes_of(at::IntArrayRef array) { return {array.data(), static_cast<int64_t>(array.size())}; }

/// A tensor that is there and has strides. Throws for any other.
inline const at::Tensor& dense(diopiConstTensorHandle_t th) {
    require_not_null(th, "th");
    const at::Tensor& tensor = tensor_of(th);
    if (tensor.layout() != at::kStrided) {
        fail("parameter 'th' is sparse");
    }
    return tensor;
}

/// A matrix in compressed rows. Throws for any other tensor.
inline const CompressedRows& sparse(diopiConstTensorHandle_t th) {
    require_not_null(th, "th");
    const auto* const rows = dynamic_cast<const CompressedRows*>(tensor_of(th).unsafeGetTensorImpl());
    if (rows == nullptr) {
        fail("parameter 'th' is not a sparse tensor");
    }
    return *rows;
}

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_HANDLES_H_
