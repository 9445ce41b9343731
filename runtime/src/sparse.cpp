// Sparse CSR tensors: three dense tensors under one handle.
#include <diopigen/host.h>

#include <string>

#include "failure.h"
#include "tensor.h"

namespace diopigen {
namespace {

const diopiTensor& require_vector(diopiConstTensorHandle_t tensor, const char* parameter) {
    require_storage(tensor, parameter);
    if (tensor->layout.size.size() != 1) {
        fail(std::string("parameter '") + parameter + "' has " + std::to_string(tensor->layout.size.size()) +
             " dimensions instead of 1");
    }
    return *tensor;
}

void require_sparse(const diopiTensor& tensor) {
    if (!tensor.is_sparse()) {
        fail("parameter 'th' is not a sparse tensor");
    }
}

std::unique_ptr<diopiTensor> share_dense(const diopiTensor& tensor) {
    return make_tensor(tensor.layout, tensor.storage_offset, tensor.dtype, tensor.storage);
}

std::unique_ptr<diopiTensor> make_sparse_csr(Layout layout, const diopiTensor& crow_indices,
                                             const diopiTensor& col_indices, const diopiTensor& values) {
    if (layout.size.size() != 2) {
        fail("parameter 'size' has length " + std::to_string(layout.size.size()) + " instead of 2");
    }
    // 1 less than the elements, not 1 more than the rows, which could be the largest int64.
    if (crow_indices.layout.numel - 1 != layout.size[0]) {
        fail("parameter 'crow_indices' has " + std::to_string(crow_indices.layout.numel) + " elements for " +
             std::to_string(layout.size[0]) + " rows; it needs one more than rows");
    }
    if (col_indices.layout.numel != values.layout.numel) {
        fail("parameter 'col_indices' has " + std::to_string(col_indices.layout.numel) +
             " elements, parameter 'values' has " + std::to_string(values.layout.numel));
    }
    const bool index_dtype = crow_indices.dtype == diopi_dtype_int32 || crow_indices.dtype == diopi_dtype_int64;
    if (!index_dtype || col_indices.dtype != crow_indices.dtype) {
        throw Failure(diopiDtypeNotSupported,
                      "parameters 'crow_indices' and 'col_indices' are neither both int32 nor both int64");
    }
    if (crow_indices.device != values.device || col_indices.device != values.device) {
        fail("parameters 'crow_indices', 'col_indices' and 'values' are not on one device");
    }
    auto tensor = std::make_unique<diopiTensor>();
    tensor->layout = std::move(layout);
    tensor->dtype = values.dtype;
    tensor->device = values.device;
    tensor->element_size = values.element_size;
    tensor->crow_indices = share_dense(crow_indices);
    tensor->col_indices = share_dense(col_indices);
    tensor->values = share_dense(values);
    return tensor;
}

}  // namespace
}  // namespace diopigen

using diopigen::guarded;
using diopigen::require_not_null;

diopiError_t diopiIsTensorSparse(diopiConstTensorHandle_t th, bool* is_sparse) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(is_sparse, "is_sparse");
        *is_sparse = th->is_sparse();
    });
}

diopiError_t diopiGetTensorCrowIndices(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* crow_indices) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(crow_indices, "crow_indices");
        diopigen::require_sparse(*th);
        *crow_indices = th->crow_indices.get();
    });
}

diopiError_t diopiGetTensorColIndices(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* col_indices) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(col_indices, "col_indices");
        diopigen::require_sparse(*th);
        *col_indices = th->col_indices.get();
    });
}

diopiError_t diopiGetTensorValues(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* values) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(values, "values");
        diopigen::require_sparse(*th);
        *values = th->values.get();
    });
}

diopiError_t diopiHostCreateSparseCsr(diopiTensorHandle_t* tensor, const diopiSize_t* size,
                                      diopiConstTensorHandle_t crow_indices, diopiConstTensorHandle_t col_indices,
                                      diopiConstTensorHandle_t values) {
    return guarded(__func__, [&] {
        require_not_null(tensor, "tensor");
        const diopiTensor& crow = diopigen::require_vector(crow_indices, "crow_indices");
        const diopiTensor& col = diopigen::require_vector(col_indices, "col_indices");
        const diopiTensor& nonzero = diopigen::require_vector(values, "values");
        *tensor = diopigen::make_sparse_csr(diopigen::make_layout(size, nullptr), crow, col, nonzero).release();
    });
}
