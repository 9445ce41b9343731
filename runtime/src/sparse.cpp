// Sparse CSR tensors: three dense tensors under one handle.
#include <diopigen/host.h>

#include <string>

#include "failure.h"
#include "tensor.h"

namespace diopigen {
namespace {

const diopiTensor& requireVector(diopiConstTensorHandle_t tensor, const char* parameter) {
    requireStorage(tensor, parameter);
    if (tensor->layout.size.size() != 1) {
        fail(std::string("parameter '") + parameter + "' has " + std::to_string(tensor->layout.size.size()) +
             " dimensions instead of 1");
    }
    return *tensor;
}

void requireSparse(const diopiTensor& tensor) {
    if (!tensor.isSparse()) {
        fail("parameter 'th' is not a sparse tensor");
    }
}

std::unique_ptr<diopiTensor> shareDense(const diopiTensor& tensor) {
    return makeTensor(tensor.layout, tensor.storageOffset, tensor.dtype, tensor.storage);
}

std::unique_ptr<diopiTensor> makeSparseCsr(Layout layout, const diopiTensor& crowIndices, const diopiTensor& colIndices,
                                           const diopiTensor& values) {
    if (layout.size.size() != 2) {
        fail("parameter 'size' has length " + std::to_string(layout.size.size()) + " instead of 2");
    }
    // 1 less than the elements, not 1 more than the rows, which could be the largest int64.
    if (crowIndices.layout.numel - 1 != layout.size[0]) {
        fail("parameter 'crow_indices' has " + std::to_string(crowIndices.layout.numel) + " elements for " +
             std::to_string(layout.size[0]) + " rows; it needs one more than rows");
    }
    if (colIndices.layout.numel != values.layout.numel) {
        fail("parameter 'col_indices' has " + std::to_string(colIndices.layout.numel) +
             " elements, parameter 'values' has " + std::to_string(values.layout.numel));
    }
    const bool indexDtype = crowIndices.dtype == diopi_dtype_int32 || crowIndices.dtype == diopi_dtype_int64;
    if (!indexDtype || colIndices.dtype != crowIndices.dtype) {
        throw Failure(diopiDtypeNotSupported,
                      "parameters 'crow_indices' and 'col_indices' are neither both int32 nor both int64");
    }
    if (crowIndices.device != values.device || colIndices.device != values.device) {
        fail("parameters 'crow_indices', 'col_indices' and 'values' are not on one device");
    }
    auto tensor = std::make_unique<diopiTensor>();
    tensor->layout = std::move(layout);
    tensor->dtype = values.dtype;
    tensor->device = values.device;
    tensor->elementSize = values.elementSize;
    tensor->crowIndices = shareDense(crowIndices);
    tensor->colIndices = shareDense(colIndices);
    tensor->values = shareDense(values);
    return tensor;
}

}  // namespace
}  // namespace diopigen

using diopigen::guarded;
using diopigen::requireNotNull;

diopiError_t diopiIsTensorSparse(diopiConstTensorHandle_t th, bool* is_sparse) {
    return guarded(__func__, [&] {
        requireNotNull(th, "th");
        requireNotNull(is_sparse, "is_sparse");
        *is_sparse = th->isSparse();
    });
}

diopiError_t diopiGetTensorCrowIndices(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* crow_indices) {
    return guarded(__func__, [&] {
        requireNotNull(th, "th");
        requireNotNull(crow_indices, "crow_indices");
        diopigen::requireSparse(*th);
        *crow_indices = th->crowIndices.get();
    });
}

diopiError_t diopiGetTensorColIndices(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* col_indices) {
    return guarded(__func__, [&] {
        requireNotNull(th, "th");
        requireNotNull(col_indices, "col_indices");
        diopigen::requireSparse(*th);
        *col_indices = th->colIndices.get();
    });
}

diopiError_t diopiGetTensorValues(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* values) {
    return guarded(__func__, [&] {
        requireNotNull(th, "th");
        requireNotNull(values, "values");
        diopigen::requireSparse(*th);
        *values = th->values.get();
    });
}

diopiError_t diopiHostCreateSparseCsr(diopiTensorHandle_t* tensor, const diopiSize_t* size,
                                      diopiConstTensorHandle_t crow_indices, diopiConstTensorHandle_t col_indices,
                                      diopiConstTensorHandle_t values) {
    return guarded(__func__, [&] {
        requireNotNull(tensor, "tensor");
        const diopiTensor& crow = diopigen::requireVector(crow_indices, "crow_indices");
        const diopiTensor& col = diopigen::requireVector(col_indices, "col_indices");
        const diopiTensor& nonzero = diopigen::requireVector(values, "values");
        *tensor = diopigen::makeSparseCsr(diopigen::makeLayout(size, nullptr), crow, col, nonzero).release();
    });
}
