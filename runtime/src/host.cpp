// What a host makes and asks for: tensors, errors, accounts. Contexts are in context.cpp, copies in host_copy.cpp.
#include <diopigen/host.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "context.h"
#include "failure.h"
#include "record.h"
#include "registry.h"
#include "tensor.h"

using diopigen::fail;
using diopigen::guarded;
using diopigen::requireNotNull;

namespace {

/// The size of memory that a caller passes.
int64_t checkedBytes(const void* data, uint64_t bytes) {
    if (bytes > 0) {
        requireNotNull(data, "data");
    }
    if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        fail("parameter 'bytes' is " + std::to_string(bytes) + ", which does not fit into int64");
    }
    return static_cast<int64_t>(bytes);
}

}  // namespace

diopiError_t diopiHostCreateTensor(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, const diopiSize_t* size,
                                   const diopiSize_t* stride, int64_t storage_offset, diopiDtype_t dtype,
                                   diopiDevice_t device) {
    return guarded(__func__, [&] {
        requireNotNull(ctx, "ctx");
        requireNotNull(tensor, "tensor");
        *tensor =
            diopigen::allocateTensor(diopigen::makeLayout(size, stride), storage_offset, dtype, device, ctx->stream)
                .release();
    });
}

diopiError_t diopiHostCreateView(diopiTensorHandle_t* tensor, diopiConstTensorHandle_t base, const diopiSize_t* size,
                                 const diopiSize_t* stride, int64_t storage_offset, diopiDtype_t dtype) {
    return guarded(__func__, [&] {
        requireNotNull(tensor, "tensor");
        diopigen::requireStorage(base, "base");
        *tensor =
            diopigen::makeTensor(diopigen::makeLayout(size, stride), storage_offset, dtype, base->storage).release();
    });
}

diopiError_t diopiHostWrapMemory(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, void* data, uint64_t bytes,
                                 const diopiSize_t* size, const diopiSize_t* stride, int64_t storage_offset,
                                 diopiDtype_t dtype, diopiDevice_t device) {
    return guarded(__func__, [&] {
        requireNotNull(ctx, "ctx");
        requireNotNull(tensor, "tensor");
        const int64_t reachable = checkedBytes(data, bytes);
        diopigen::requireDevice(device);
        auto storage = diopigen::Storage::borrow(data, reachable, device, ctx->stream);
        *tensor = diopigen::makeTensor(diopigen::makeLayout(size, stride), storage_offset, dtype, std::move(storage))
                      .release();
    });
}

diopiError_t diopiHostSetWrappedMemory(diopiTensorHandle_t tensor, void* data, uint64_t bytes) {
    return guarded(__func__, [&] {
        diopigen::requireStorage(tensor, "tensor");
        const int64_t reachable = checkedBytes(data, bytes);
        diopigen::setBorrowed(*tensor, data, reachable);
    });
}

diopiError_t diopiHostDestroyTensor(diopiTensorHandle_t tensor) {
    return guarded(__func__, [&] {
        requireNotNull(tensor, "tensor");
        if (tensor->owner != nullptr) {
            fail("parameter 'tensor' is a temporary of a context; diopiHostReleaseTemporary frees it");
        }
        diopigen::prepareToFree(*tensor);
        delete tensor;
    });
}

diopiError_t diopiHostGetLastErrorText(const char** text) {
    return guarded(__func__, [&] {
        requireNotNull(text, "text");
        *text = diopigen::lastErrorText();
    });
}

diopiError_t diopiHostGetDeviceErrorText(const char** text) {
    return guarded(__func__, [&] {
        requireNotNull(text, "text");
        const char* const explanation = diopigen::deviceFunctions().requireGetLastErrorString()();
        *text = explanation == nullptr ? "" : explanation;
    });
}

diopiError_t diopiHostGetLiveBytes(diopiDevice_t device, uint64_t* bytes) {
    return guarded(__func__, [&] {
        diopigen::requireDevice(device);
        requireNotNull(bytes, "bytes");
        *bytes = diopigen::liveBytes(device);
    });
}

diopiError_t diopiHostCreateDevice(uint32_t* device) {
    return guarded(__func__, [&] {
        requireNotNull(device, "device");
        *device = diopigen::createDevice();
    });
}

diopiError_t diopiHostSelectDevice(uint32_t device, uint32_t* previous) {
    return guarded(__func__, [&] {
        const uint32_t before = diopigen::selectDevice(device);
        if (previous != nullptr) {
            *previous = before;
        }
    });
}

diopiError_t diopiHostReset(void) {
    return guarded(__func__, [] {
        diopigen::clearDeviceFunctions();
        diopigen::resetRecords();
        diopigen::clearLastErrorText();
    });
}
