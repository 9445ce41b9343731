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

AsyncCopy requireCopyFunction(const Stream& stream, diopiDevice_t destination, diopiDevice_t source) {
    const DeviceFunctions functions = deviceFunctions(stream.device());
    if (destination == diopi_device) {
        return source == diopi_device ? functions.requireCopyDeviceToDevice() : functions.requireCopyHostToDevice();
    }
    return functions.requireCopyDeviceToHost();
}

void copy(Stream& stream, void* destination, diopiDevice_t destinationDevice, const void* source,
          diopiDevice_t sourceDevice, int64_t bytes) {
    if (bytes == 0) {
        return;
    }
    const auto unsignedBytes = static_cast<uint64_t>(bytes);
    if (destinationDevice == diopi_host && sourceDevice == diopi_host) {
        stream.synchronize();
        std::memcpy(destination, source, unsignedBytes);
        return;
    }
    const AsyncCopy copyAsync = requireCopyFunction(stream, destinationDevice, sourceDevice);
    stream.requireFunctions();
    requireDeviceSuccess(copyAsync(stream.handle(), destination, source, unsignedBytes), "copy memory",
                         stream.device());
    stream.synchronize();
}

void requireEqualBytes(uint64_t bytes, const Storage& storage) {
    if (bytes != static_cast<uint64_t>(storage.bytes())) {
        fail("parameter 'bytes' is " + std::to_string(bytes) + ", the storage has " + std::to_string(storage.bytes()) +
             " bytes");
    }
}

}  // namespace
}  // namespace diopigen

using diopigen::guarded;
using diopigen::requireNotNull;
using diopigen::Storage;

diopiError_t diopiHostCopyToStorage(diopiContextHandle_t ctx, diopiTensorHandle_t tensor, const void* source,
                                    uint64_t bytes) {
    return guarded(__func__, [&] {
        requireNotNull(ctx, "ctx");
        const Storage& storage = diopigen::requireStorage(tensor, "tensor");
        diopigen::requireEqualBytes(bytes, storage);
        if (bytes > 0) {
            requireNotNull(source, "source");
        }
        diopigen::copy(*ctx->stream, storage.data(), storage.device(), source, diopi_host, storage.bytes());
    });
}

diopiError_t diopiHostCopyFromStorage(diopiContextHandle_t ctx, diopiConstTensorHandle_t tensor, void* destination,
                                      uint64_t bytes) {
    return guarded(__func__, [&] {
        requireNotNull(ctx, "ctx");
        const Storage& storage = diopigen::requireStorage(tensor, "tensor");
        diopigen::requireEqualBytes(bytes, storage);
        if (bytes > 0) {
            requireNotNull(destination, "destination");
        }
        diopigen::copy(*ctx->stream, destination, diopi_host, storage.data(), storage.device(), storage.bytes());
    });
}

diopiError_t diopiHostCopyStorage(diopiContextHandle_t ctx, diopiTensorHandle_t destination,
                                  diopiConstTensorHandle_t source) {
    return guarded(__func__, [&] {
        requireNotNull(ctx, "ctx");
        const Storage& to = diopigen::requireStorage(destination, "destination");
        const Storage& from = diopigen::requireStorage(source, "source");
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
