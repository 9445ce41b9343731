#include "tensor.h"

#include <diopigen/host.h>

#include <string>
#include <utility>

#include "failure.h"

namespace diopigen {
namespace {

void require_dense(const diopiTensor& tensor, const char* parameter) {
    if (tensor.is_sparse()) {
        fail(std::string("parameter '") + parameter +
             "' is a sparse tensor, which has no storage and no strides; ask for its indices and values");
    }
}

/// Throws where a tensor reaches beyond the end of its storage.
void require_reach(const Layout& layout, int64_t storage_offset, int64_t bytes_per_element, int64_t bytes) {
    const int64_t reached = reached_bytes(layout, storage_offset, bytes_per_element);
    if (reached > bytes) {
        fail("the tensor reaches " + std::to_string(reached) + " bytes into a storage of " + std::to_string(bytes) +
             " bytes");
    }
}

void* element_address(const diopiTensor& tensor) {
    void* const start = tensor.storage->data();
    if (start == nullptr) {
        return nullptr;
    }
    return static_cast<char*>(start) + tensor.storage_offset * tensor.element_size;
}

}  // namespace

std::unique_ptr<diopiTensor> make_tensor(Layout layout, int64_t storage_offset, diopiDtype_t dtype,
                                         std::shared_ptr<Storage> storage) {
    const int64_t bytes_per_element = element_size(dtype);
    require_reach(layout, storage_offset, bytes_per_element, storage->bytes());
    auto tensor = std::make_unique<diopiTensor>();
    tensor->description = describe(layout, dtype);
    tensor->layout = std::move(layout);
    tensor->dtype = dtype;
    tensor->device = storage->device();
    tensor->element_size = bytes_per_element;
    tensor->storage_offset = storage_offset;
    tensor->storage = std::move(storage);
    return tensor;
}

std::unique_ptr<diopiTensor> allocate_tensor(Layout layout, int64_t storage_offset, diopiDtype_t dtype,
                                             diopiDevice_t device, const std::shared_ptr<Stream>& stream) {
    require_device(device);
    const int64_t bytes = reached_bytes(layout, storage_offset, element_size(dtype));
    return make_tensor(std::move(layout), storage_offset, dtype, Storage::allocate(bytes, device, stream));
}

void set_borrowed(diopiTensor& tensor, void* data, int64_t bytes) {
    if (tensor.storage->is_owned() || tensor.storage.use_count() != 1) {
        fail("parameter 'tensor' is not the only one over memory of the caller");
    }
    require_reach(tensor.layout, tensor.storage_offset, tensor.element_size, bytes);
    tensor.storage->set_borrowed(data, bytes);
}

const Storage& require_storage(diopiConstTensorHandle_t tensor, const char* parameter) {
    require_not_null(tensor, parameter);
    require_dense(*tensor, parameter);
    return *tensor->storage;
}

void prepare_to_free(const diopiTensor& tensor) {
    if (!tensor.is_sparse()) {
        tensor.storage->prepare_to_free();
        return;
    }
    for (const diopiTensor* part : {tensor.crow_indices.get(), tensor.col_indices.get(), tensor.values.get()}) {
        part->storage->prepare_to_free();
    }
}

}  // namespace diopigen

using diopigen::guarded;
using diopigen::require_not_null;

diopiError_t diopiGetTensorData(diopiTensorHandle_t th, void** data) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(data, "data");
        diopigen::require_dense(*th, "th");
        *data = diopigen::element_address(*th);
    });
}

diopiError_t diopiGetTensorDataConst(diopiConstTensorHandle_t th, const void** data) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(data, "data");
        diopigen::require_dense(*th, "th");
        *data = diopigen::element_address(*th);
    });
}

diopiError_t diopiGetTensorShape(diopiConstTensorHandle_t th, diopiSize_t* size) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(size, "size");
        *size = diopigen::as_size(th->layout.size);
    });
}

diopiError_t diopiGetTensorStride(diopiConstTensorHandle_t th, diopiSize_t* stride) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(stride, "stride");
        diopigen::require_dense(*th, "th");
        *stride = diopigen::as_size(th->layout.stride);
    });
}

diopiError_t diopiGetTensorDtype(diopiConstTensorHandle_t th, diopiDtype_t* dtype) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(dtype, "dtype");
        *dtype = th->dtype;
    });
}

diopiError_t diopiGetTensorDevice(diopiConstTensorHandle_t th, diopiDevice_t* device) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(device, "device");
        *device = th->device;
    });
}

diopiError_t diopiGetTensorNumel(diopiConstTensorHandle_t th, int64_t* numel) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(numel, "numel");
        *numel = th->layout.numel;
    });
}

diopiError_t diopiGetTensorElemSize(diopiConstTensorHandle_t th, int64_t* itemsize) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(itemsize, "itemsize");
        *itemsize = th->element_size;
    });
}

diopiError_t diopiGetTensorStoragePtr(diopiConstTensorHandle_t th, void** pStoragePtr) {
    return guarded(__func__, [&] {
        const diopigen::Storage& storage = diopigen::require_storage(th, "th");
        require_not_null(pStoragePtr, "pStoragePtr");
        *pStoragePtr = storage.data();
    });
}

diopiError_t diopiGetTensorStorageOffset(diopiConstTensorHandle_t th, int64_t* pOffset) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(pOffset, "pOffset");
        diopigen::require_dense(*th, "th");
        *pOffset = th->storage_offset;
    });
}

diopiError_t diopiGetTensorStorageNbytes(diopiConstTensorHandle_t th, size_t* pNbytes) {
    return guarded(__func__, [&] {
        const diopigen::Storage& storage = diopigen::require_storage(th, "th");
        require_not_null(pNbytes, "pNbytes");
        *pNbytes = static_cast<size_t>(storage.bytes());
    });
}

diopiError_t diopiGetTensorDeviceIndex(diopiConstTensorHandle_t th, diopiDeviceIndex_t* pDevIndex) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(pDevIndex, "pDevIndex");
        // One device, number 0; the host has no number, as in PyTorch.
        *pDevIndex = th->device == diopi_device ? 0 : -1;
    });
}

diopiError_t diopiGetCurrentDeviceIndex(diopiDeviceIndex_t* pDevIndex) {
    return guarded(__func__, [&] {
        require_not_null(pDevIndex, "pDevIndex");
        *pDevIndex = 0;
    });
}

diopiError_t diopiHostInspectTensor(diopiConstTensorHandle_t tensor, const void** data, diopiSize_t* size,
                                    diopiSize_t* stride, int64_t* element_size, diopiDtype_t* dtype,
                                    diopiDevice_t* device, bool* is_sparse) {
    return guarded(__func__, [&] {
        require_not_null(tensor, "tensor");
        require_not_null(data, "data");
        require_not_null(size, "size");
        require_not_null(stride, "stride");
        require_not_null(element_size, "element_size");
        require_not_null(dtype, "dtype");
        require_not_null(device, "device");
        require_not_null(is_sparse, "is_sparse");
        *is_sparse = tensor->is_sparse();
        *data = *is_sparse ? nullptr : diopigen::element_address(*tensor);
        *size = diopigen::as_size(tensor->layout.size);
        *stride = *is_sparse ? diopiSize_t{nullptr, 0} : diopigen::as_size(tensor->layout.stride);
        *element_size = tensor->element_size;
        *dtype = tensor->dtype;
        *device = tensor->device;
    });
}
