#include "tensor.h"

#include <diopigen/host.h>

#include <string>
#include <utility>

#include "failure.h"

namespace diopigen {
namespace {

void requireDense(const diopiTensor& tensor, const char* parameter) {
    if (tensor.isSparse()) {
        fail(std::string("parameter '") + parameter +
             "' is a sparse tensor, which has no storage and no strides; ask for its indices and values");
    }
}

/// Throws where a tensor reaches beyond the end of its storage.
void requireReach(const Layout& layout, int64_t storageOffset, int64_t bytesPerElement, int64_t bytes) {
    const int64_t reached = reachedBytes(layout, storageOffset, bytesPerElement);
    if (reached > bytes) {
        fail("the tensor reaches " + std::to_string(reached) + " bytes into a storage of " + std::to_string(bytes) +
             " bytes");
    }
}

void* elementAddress(const diopiTensor& tensor) {
    void* const start = tensor.storage->data();
    if (start == nullptr) {
        return nullptr;
    }
    return static_cast<char*>(start) + tensor.storageOffset * tensor.elementSize;
}

}  // namespace

std::unique_ptr<diopiTensor> makeTensor(Layout layout, int64_t storageOffset, diopiDtype_t dtype,
                                        std::shared_ptr<Storage> storage) {
    const int64_t bytesPerElement = elementSize(dtype);
    requireReach(layout, storageOffset, bytesPerElement, storage->bytes());
    auto tensor = std::make_unique<diopiTensor>();
    tensor->description = describe(layout, dtype);
    tensor->layout = std::move(layout);
    tensor->dtype = dtype;
    tensor->device = storage->device();
    tensor->elementSize = bytesPerElement;
    tensor->storageOffset = storageOffset;
    tensor->storage = std::move(storage);
    return tensor;
}

std::unique_ptr<diopiTensor> allocateTensor(Layout layout, int64_t storageOffset, diopiDtype_t dtype,
                                            diopiDevice_t device, const std::shared_ptr<Stream>& stream) {
    requireDevice(device);
    const int64_t bytes = reachedBytes(layout, storageOffset, elementSize(dtype));
    return makeTensor(std::move(layout), storageOffset, dtype, Storage::allocate(bytes, device, stream));
}

void setBorrowed(diopiTensor& tensor, void* data, int64_t bytes) {
    if (tensor.storage->isOwned() || tensor.storage.use_count() != 1) {
        fail("parameter 'tensor' is not the only one over memory of the caller");
    }
    requireReach(tensor.layout, tensor.storageOffset, tensor.elementSize, bytes);
    tensor.storage->setBorrowed(data, bytes);
}

const Storage& requireStorage(diopiConstTensorHandle_t tensor, const char* parameter) {
    requireNotNull(tensor, parameter);
    requireDense(*tensor, parameter);
    return *tensor->storage;
}

void prepareToFree(const diopiTensor& tensor) {
    if (!tensor.isSparse()) {
        tensor.storage->prepareToFree();
        return;
    }
    for (const diopiTensor* part : {tensor.crowIndices.get(), tensor.colIndices.get(), tensor.values.get()}) {
        part->storage->prepareToFree();
    }
}

}  // namespace diopigen

using diopigen::guarded;
using diopigen::requireNotNull;

diopiError_t diopiGetTensorData(diopiTensorHandle_t th, void** data) {
    return guarded(__func__, [&] {
        requireNotNull(th, "th");
        requireNotNull(data, "data");
        diopigen::requireDense(*th, "th");
        *data = diopigen::elementAddress(*th);
    });
}

diopiError_t diopiGetTensorDataConst(diopiConstTensorHandle_t th, const void** data) {
    return guarded(__func__, [&] {
        requireNotNull(th, "th");
        requireNotNull(data, "data");
        diopigen::requireDense(*th, "th");
        *data = diopigen::elementAddress(*th);
    });
}

diopiError_t diopiGetTensorShape(diopiConstTensorHandle_t th, diopiSize_t* size) {
    return guarded(__func__, [&] {
        requireNotNull(th, "th");
        requireNotNull(size, "size");
        *size = diopigen::asSize(th->layout.size);
    });
}

diopiError_t diopiGetTensorStride(diopiConstTensorHandle_t th, diopiSize_t* stride) {
    return guarded(__func__, [&] {
        requireNotNull(th, "th");
        requireNotNull(stride, "stride");
        diopigen::requireDense(*th, "th");
        *stride = diopigen::asSize(th->layout.stride);
    });
}

diopiError_t diopiGetTensorDtype(diopiConstTensorHandle_t th, diopiDtype_t* dtype) {
    return guarded(__func__, [&] {
        requireNotNull(th, "th");
        requireNotNull(dtype, "dtype");
        *dtype = th->dtype;
    });
}

diopiError_t diopiGetTensorDevice(diopiConstTensorHandle_t th, diopiDevice_t* device) {
    return guarded(__func__, [&] {
        requireNotNull(th, "th");
        requireNotNull(device, "device");
        *device = th->device;
    });
}

diopiError_t diopiGetTensorNumel(diopiConstTensorHandle_t th, int64_t* numel) {
    return guarded(__func__, [&] {
        requireNotNull(th, "th");
        requireNotNull(numel, "numel");
        *numel = th->layout.numel;
    });
}

diopiError_t diopiGetTensorElemSize(diopiConstTensorHandle_t th, int64_t* itemsize) {
    return guarded(__func__, [&] {
        requireNotNull(th, "th");
        requireNotNull(itemsize, "itemsize");
        *itemsize = th->elementSize;
    });
}

diopiError_t diopiGetTensorStoragePtr(diopiConstTensorHandle_t th, void** pStoragePtr) {
    return guarded(__func__, [&] {
        const diopigen::Storage& storage = diopigen::requireStorage(th, "th");
        requireNotNull(pStoragePtr, "pStoragePtr");
        *pStoragePtr = storage.data();
    });
}

diopiError_t diopiGetTensorStorageOffset(diopiConstTensorHandle_t th, int64_t* pOffset) {
    return guarded(__func__, [&] {
        requireNotNull(th, "th");
        requireNotNull(pOffset, "pOffset");
        diopigen::requireDense(*th, "th");
        *pOffset = th->storageOffset;
    });
}

diopiError_t diopiGetTensorStorageNbytes(diopiConstTensorHandle_t th, size_t* pNbytes) {
    return guarded(__func__, [&] {
        const diopigen::Storage& storage = diopigen::requireStorage(th, "th");
        requireNotNull(pNbytes, "pNbytes");
        *pNbytes = static_cast<size_t>(storage.bytes());
    });
}

diopiError_t diopiGetTensorDeviceIndex(diopiConstTensorHandle_t th, diopiDeviceIndex_t* pDevIndex) {
    return guarded(__func__, [&] {
        requireNotNull(th, "th");
        requireNotNull(pDevIndex, "pDevIndex");
        // One device, number 0; the host has no number, as in PyTorch.
        *pDevIndex = th->device == diopi_device ? 0 : -1;
    });
}

diopiError_t diopiGetCurrentDeviceIndex(diopiDeviceIndex_t* pDevIndex) {
    return guarded(__func__, [&] {
        requireNotNull(pDevIndex, "pDevIndex");
        *pDevIndex = 0;
    });
}

diopiError_t diopiHostInspectTensor(diopiConstTensorHandle_t tensor, const void** data, diopiSize_t* size,
                                    diopiSize_t* stride, int64_t* element_size, diopiDtype_t* dtype,
                                    diopiDevice_t* device, bool* is_sparse) {
    return guarded(__func__, [&] {
        requireNotNull(tensor, "tensor");
        requireNotNull(data, "data");
        requireNotNull(size, "size");
        requireNotNull(stride, "stride");
        requireNotNull(element_size, "element_size");
        requireNotNull(dtype, "dtype");
        requireNotNull(device, "device");
        requireNotNull(is_sparse, "is_sparse");
        *is_sparse = tensor->isSparse();
        *data = *is_sparse ? nullptr : diopigen::elementAddress(*tensor);
        *size = diopigen::asSize(tensor->layout.size);
        *stride = *is_sparse ? diopiSize_t{nullptr, 0} : diopigen::asSize(tensor->layout.stride);
        *element_size = tensor->elementSize;
        *dtype = tensor->dtype;
        *device = tensor->device;
    });
}
