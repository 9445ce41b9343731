// The runtime's tensor: a layout over a storage, or a sparse matrix made of three such tensors.
#ifndef DIOPIGEN_RUNTIME_TENSOR_H_
#define DIOPIGEN_RUNTIME_TENSOR_H_

#include <diopi/diopirt.h>

#include <cstdint>
#include <memory>

#include "description.h"
#include "layout.h"
#include "storage.h"

struct diopiTensor {
    uint32_t description = diopigen::kUndescribed;
    diopigen::Layout layout;
    diopiDtype_t dtype = diopi_dtype_unsupported;
    diopiDevice_t device = diopi_host;
    int64_t element_size = 0;    // bytes
    int64_t storage_offset = 0;  // elements
    std::shared_ptr<diopigen::Storage> storage;

    // The context that owns this tensor as a temporary; null for tensors that the host made.
    diopiContextHandle_t owner = nullptr;

    // Set in a sparse CSR tensor, which has no storage and no strides of its own.
    std::unique_ptr<diopiTensor> crow_indices;
    std::unique_ptr<diopiTensor> col_indices;
    std::unique_ptr<diopiTensor> values;

    bool is_sparse() const { return values != nullptr; }
};

namespace diopigen {

/// A dense tensor over `storage`. Throws when it reaches beyond the storage's end.
std::unique_ptr<diopiTensor> make_tensor(Layout layout, int64_t storage_offset, diopiDtype_t dtype,
                                         std::shared_ptr<Storage> storage);

/// A dense tensor over a new storage that is as large as the tensor reaches.
std::unique_ptr<diopiTensor> allocate_tensor(Layout layout, int64_t storage_offset, diopiDtype_t dtype,
                                             diopiDevice_t device, const std::shared_ptr<Stream>& stream);

/// Puts a tensor over other memory of the caller. Throws unless its storage is memory of the caller that no other
/// tensor views, and where the tensor reaches beyond `bytes`.
void set_borrowed(diopiTensor& tensor, void* data, int64_t bytes);

/// The tensor's storage. Throws for null and for sparse tensors; `parameter` is the tensor's name in the C function.
const Storage& require_storage(diopiConstTensorHandle_t tensor, const char* parameter);

/// Storage::prepare_to_free for all storages of the tensor.
void prepare_to_free(const diopiTensor& tensor);

}  // namespace diopigen

#endif  // DIOPIGEN_RUNTIME_TENSOR_H_
