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
using diopigen::require_not_null;

namespace {

/// The size of memory that a caller passes.
int64_t checked_bytes(const void* data, uint64_t bytes) {
    if (bytes > 0) {
        require_not_null(data, "data");
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
        require_not_null(ctx, "ctx");
        require_not_null(tensor, "tensor");
        *tensor =
            diopigen::allocate_tensor(diopigen::make_layout(size, stride), storage_offset, dtype, device, ctx->stream)
                .release();
    });
}

diopiError_t diopiHostCreateView(diopiTensorHandle_t* tensor, diopiConstTensorHandle_t base, const diopiSize_t* size,
                                 const diopiSize_t* stride, int64_t storage_offset, diopiDtype_t dtype) {
    return guarded(__func__, [&] {
        require_not_null(tensor, "tensor");
        diopigen::require_storage(base, "base");
        *tensor =
            diopigen::make_tensor(diopigen::make_layout(size, stride), storage_offset, dtype, base->storage).release();
    });
}

diopiError_t diopiHostWrapMemory(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, void* data, uint64_t bytes,
                                 const diopiSize_t* size, const diopiSize_t* stride, int64_t storage_offset,
                                 diopiDtype_t dtype, diopiDevice_t device) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        require_not_null(tensor, "tensor");
        const int64_t reachable = checked_bytes(data, bytes);
        diopigen::require_device(device);
        auto storage = diopigen::Storage::borrow(data, reachable, device, ctx->stream);
        *tensor = diopigen::make_tensor(diopigen::make_layout(size, stride), storage_offset, dtype, std::move(storage))
                      .release();
    });
}

diopiError_t diopiHostSetWrappedMemory(diopiTensorHandle_t tensor, void* data, uint64_t bytes) {
    return guarded(__func__, [&] {
        diopigen::require_storage(tensor, "tensor");
        const int64_t reachable = checked_bytes(data, bytes);
        diopigen::set_borrowed(*tensor, data, reachable);
    });
}

diopiError_t diopiHostDestroyTensor(diopiTensorHandle_t tensor) {
    return guarded(__func__, [&] {
        require_not_null(tensor, "tensor");
        if (tensor->owner != nullptr) {
            fail("parameter 'tensor' is a temporary of a context; diopiHostReleaseTemporary frees it");
        }
        diopigen::prepare_to_free(*tensor);
        delete tensor;
    });
}

diopiError_t diopiHostGetLastErrorText(const char** text) {
    return guarded(__func__, [&] {
        require_not_null(text, "text");
        *text = diopigen::last_error_text();
    });
}

diopiError_t diopiHostGetDeviceErrorText(const char** text) {
    return guarded(__func__, [&] {
        require_not_null(text, "text");
        const char* const explanation = diopigen::device_functions().require_get_last_error_string()();
        *text = explanation == nullptr ? "" : explanation;
    });
}

diopiError_t diopiHostGetLiveBytes(diopiDevice_t device, uint64_t* bytes) {
    return guarded(__func__, [&] {
        diopigen::require_device(device);
        require_not_null(bytes, "bytes");
        *bytes = diopigen::live_bytes(device);
    });
}

diopiError_t diopiHostCreateDevice(uint32_t* device) {
    return guarded(__func__, [&] {
        require_not_null(device, "device");
        *device = diopigen::create_device();
    });
}

diopiError_t diopiHostSelectDevice(uint32_t device, uint32_t* previous) {
    return guarded(__func__, [&] {
        const uint32_t before = diopigen::select_device(device);
        if (previous != nullptr) {
            *previous = before;
        }
    });
}

diopiError_t diopiHostReset(void) {
    return guarded(__func__, [] {
        diopigen::clear_device_functions();
        diopigen::reset_records();
        diopigen::clear_last_error_text();
    });
}
