// Copies of whole storages, between a host's own bytes and tensors and between two tensors.
#include <diopigen/host.h>

#include <cstring>
#include <string>

#include "context.h"
#include "failure.h"
#include "tensor.h"

namespace diopigen {
namespace {

// The three device copies have one signature, told apart by the require... function that finds them.
using AsyncCopy = int32_t (*)(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes);

AsyncCopy require_copy_function(const Stream& stream, diopiDevice_t destination, diopiDevice_t source) {
    const DeviceFunctions functions = device_functions(stream.device());
    if (destination == diopi_device) {
        return source == diopi_device ? functions.require_copy_device_to_device()
                                      : functions.require_copy_host_to_device();
    }
    return functions.require_copy_device_to_host();
}

void copy(Stream& stream, void* destination, diopiDevice_t destination_device, const void* source,
          diopiDevice_t source_device, int64_t bytes) {
    if (bytes == 0) {
        return;
    }
    const auto unsigned_bytes = static_cast<uint64_t>(bytes);
    if (destination_device == diopi_host && source_device == diopi_host) {
        stream.synchronize();
        std::memcpy(destination, source, unsigned_bytes);
        return;
    }
    const AsyncCopy copy_async = require_copy_function(stream, destination_device, source_device);
    stream.require_functions();
    require_device_success(copy_async(stream.handle(), destination, source, unsigned_bytes), "copy memory",
                           stream.device());
    stream.synchronize();
}

void require_equal_bytes(uint64_t bytes, const Storage& storage) {
    if (bytes != static_cast<uint64_t>(storage.bytes())) {
        fail("parameter 'bytes' is " + std::to_string(bytes) + ", the storage has " + std::to_string(storage.bytes()) +
             " bytes");
    }
}

}  // namespace
}  // namespace diopigen

using diopigen::guarded;
using diopigen::require_not_null;
using diopigen::Storage;

diopiError_t diopiHostCopyToStorage(diopiContextHandle_t ctx, diopiTensorHandle_t tensor, const void* source,
                                    uint64_t bytes) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        const Storage& storage = diopigen::require_storage(tensor, "tensor");
        diopigen::require_equal_bytes(bytes, storage);
        if (bytes > 0) {
            require_not_null(source, "source");
        }
        diopigen::copy(*ctx->stream, storage.data(), storage.device(), source, diopi_host, storage.bytes());
    });
}

diopiError_t diopiHostCopyFromStorage(diopiContextHandle_t ctx, diopiConstTensorHandle_t tensor, void* destination,
                                      uint64_t bytes) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        const Storage& storage = diopigen::require_storage(tensor, "tensor");
        diopigen::require_equal_bytes(bytes, storage);
        if (bytes > 0) {
            require_not_null(destination, "destination");
        }
        diopigen::copy(*ctx->stream, destination, diopi_host, storage.data(), storage.device(), storage.bytes());
    });
}

diopiError_t diopiHostCopyStorage(diopiContextHandle_t ctx, diopiTensorHandle_t destination,
                                  diopiConstTensorHandle_t source) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        const Storage& to = diopigen::require_storage(destination, "destination");
        const Storage& from = diopigen::require_storage(source, "source");
        if (&to == &from) {
            diopigen::fail("parameters 'destination' and 'source' have the same storage");
        }
        if (to.bytes() != from.bytes()) {
            diopigen::fail("parameter 'destination' has a storage of " + std::to_string(to.bytes()) +
                           " bytes, parameter 'source' one of " + std::to_string(from.bytes()) + " bytes");
        }
        diopigen::copy(*ctx->stream, to.data(), to.device(), from.data(), from.device(), to.bytes());
    });
}
