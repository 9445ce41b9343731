/*
 * The device, as the host sees it: memory, copies and streams. Its memory is the host's, and its streams are threads.
 *
 * Hosts of both established forms are served: those that take registrations get these functions from initLibrary,
 * the newer ones find them by name.
 *
 * A start, made by `diopigen scaffold`. This file is yours: it is not written a second time.
 */
#include <diopi/functions.h>
#include <diopigen/device.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "quartz/error.h"
#include "quartz/stream.h"
#include "quartz_chip.h"

// A host of the newer form has no registration: these are null there.
#pragma weak diopiRegisterDeviceMallocFunc
#pragma weak diopiRegisterDevMemFreeFunc
#pragma weak diopiRegisterStreamCreateFunc
#pragma weak diopiRegisterStreamDestroyFunc
#pragma weak diopiRegisterSynchronizeStreamFunc
#pragma weak diopiRegisterMemcpyH2DAsyncFunc
#pragma weak diopiRegisterMemcpyD2HAsyncFunc
#pragma weak diopiRegisterMemcpyD2DAsyncFunc
#pragma weak diopiRegisterGetLastErrorFunc

using impl::quartz::setLastError;

namespace {

constexpr uint64_t kAlignment = quartz::kChip.alignment > 64 ? quartz::kChip.alignment : 64;

int32_t queueCopy(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    impl::quartz::Stream::of(stream).add([=] {
        if (bytes > 0) {
            std::memmove(dst, src, bytes);
        }
        return impl::quartz::Stream::Status();
    });
    return 0;
}

/** Registers a function where the host takes registrations; whether that went well. */
template <typename Function>
bool offer(int32_t (*registerFunction)(Function), Function function) {
    return registerFunction == nullptr || registerFunction(function) == 0;
}

}  // namespace

extern "C" {

// Allocates device memory; a size of 0 gives an address all the same.
void* device_malloc(uint64_t bytes) {
    const uint64_t rounded = bytes > 0 ? (bytes + kAlignment - 1) / kAlignment * kAlignment : kAlignment;
    void* address = rounded >= bytes ? std::aligned_alloc(kAlignment, rounded) : nullptr;
    if (address == nullptr) {
        setLastError("out of device memory: %llu bytes asked for", static_cast<unsigned long long>(bytes));
    }
    return address;
}

// Frees device memory.
void device_free(void* ptr) {
    // Work that uses it is done: the host has waited.
    std::free(ptr);
}

// Creates a stream.
int32_t device_make_stream(diopiStreamHandle_t* stream) {
    *stream = reinterpret_cast<diopiStreamHandle_t>(new impl::quartz::Stream());
    return 0;
}

// Destroys a stream.
int32_t device_destroy_stream(diopiStreamHandle_t stream) {
    delete reinterpret_cast<impl::quartz::Stream*>(stream);
    return 0;
}

// Waits until all work on a stream is done.
int32_t device_synchronize_stream(diopiStreamHandle_t stream) {
    const impl::quartz::Stream::Status status = impl::quartz::Stream::of(stream).wait();
    if (!status.ok()) {
        setLastError("%s", status.text().c_str());
    }
    return static_cast<int32_t>(status.code());
}

// Copies from host to device in the order of a stream.
int32_t device_memcpy_h2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return queueCopy(stream, dst, src, bytes);
}

// Copies from device to host in the order of a stream.
int32_t device_memcpy_d2h_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return queueCopy(stream, dst, src, bytes);
}

// Copies within the device in the order of a stream.
int32_t device_memcpy_d2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return queueCopy(stream, dst, src, bytes);
}

// Text of the last device error.
const char* device_get_last_error_string() { return diopiGetLastErrorString(); }

// Called once, before the first context. 0 on success.
int32_t initLibrary() {
    bool offered = true;
    offered = offer(diopiRegisterDeviceMallocFunc, device_malloc) && offered;
    offered = offer(diopiRegisterDevMemFreeFunc, device_free) && offered;
    offered = offer(diopiRegisterStreamCreateFunc, device_make_stream) && offered;
    offered = offer(diopiRegisterStreamDestroyFunc, device_destroy_stream) && offered;
    offered = offer(diopiRegisterSynchronizeStreamFunc, device_synchronize_stream) && offered;
    offered = offer(diopiRegisterMemcpyH2DAsyncFunc, device_memcpy_h2d_async) && offered;
    offered = offer(diopiRegisterMemcpyD2HAsyncFunc, device_memcpy_d2h_async) && offered;
    offered = offer(diopiRegisterMemcpyD2DAsyncFunc, device_memcpy_d2d_async) && offered;
    offered = offer(diopiRegisterGetLastErrorFunc, device_get_last_error_string) && offered;
    if (!offered) {
        setLastError("the host refused a device function");
    }
    return offered ? 0 : 1;
}

// Called once, after the last context. 0 on success.
int32_t finalizeLibrary() { return 0; }

// Writes the state of a fresh generator into a tensor that the host has made: seed 0, nothing drawn yet. 0 on success.
int32_t buildGeneratorState(diopiContextHandle_t ctx, diopiTensorHandle_t out) {
    // VENDOR: the state as your random kernels read it.
    int64_t count = 0;
    int64_t size = 0;
    void* data = nullptr;
    diopiStreamHandle_t stream = nullptr;
    if (diopiGetTensorNumel(out, &count) != diopiSuccess || diopiGetTensorElemSize(out, &size) != diopiSuccess ||
        diopiGetTensorData(out, &data) != diopiSuccess || diopiGetStream(ctx, &stream) != diopiSuccess) {
        setLastError("the state tensor or the stream of its context cannot be read");
        return 1;
    }
    const uint64_t bytes = static_cast<uint64_t>(count) * static_cast<uint64_t>(size);
    const std::unique_ptr<char[]> state(new (std::nothrow) char[bytes]());
    if (state == nullptr) {
        setLastError("out of host memory");
        return 1;
    }
    const int32_t status = device_memcpy_h2d_async(stream, data, state.get(), bytes);
    return status != 0 ? status : device_synchronize_stream(stream);
}

}  // extern "C"
