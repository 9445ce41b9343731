#include "diopi_cuda/device.h"

#include <diopigen/device.h>

#include <string>
#include <utility>

#include "diopi_cuda/check.h"
#include "diopi_cuda/memory.h"

namespace diopigen::cuda {

namespace {

// The runtime may ask for a text after any failure; it stays until the thread's next failure.
std::string& text() {
    thread_local std::string latest;
    return latest;
}

cudaStream_t stream_of(diopiStreamHandle_t handle) { return static_cast<cudaStream_t>(handle); }

int32_t create_stream(diopiStreamHandle_t* handle) {
    cudaStream_t created = nullptr;
    const cudaError_t status = cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking);
    *handle = created;
    return answer(status, "create a stream");
}

int32_t destroy_stream(diopiStreamHandle_t handle) {
    findings_of(stream_of(handle));  // no call is left to report them, and the next stream may have the same handle
    return answer(cudaStreamDestroy(stream_of(handle)), "destroy a stream");
}

int32_t synchronize(diopiStreamHandle_t handle) {
    const int32_t failed = answer(cudaStreamSynchronize(stream_of(handle)), "wait for a stream");
    std::string found = failed == 0 ? findings_of(stream_of(handle)) : "";
    if (found.empty()) {
        return failed;
    }
    text() = std::move(found);
    return static_cast<int32_t>(cudaErrorInvalidValue);
}

// The runtime's allocation knows no stream. That of the null stream is complete when the call returns, and every other
// stream may use the memory: the null stream has no work that would keep it waiting.
void* allocate_now(uint64_t bytes) {
    void* data = nullptr;
    if (answer(allocate(&data, bytes, nullptr), "allocate") != 0) {
        return nullptr;
    }
    return answer(cudaStreamSynchronize(nullptr), "allocate") == 0 ? data : nullptr;
}

// The device that memory is on. Asked for where there are several alone.
cudaError_t device_of(const void* data, int* device) {
    cudaPointerAttributes attributes{};
    const cudaError_t status = cudaPointerGetAttributes(&attributes, data);
    *device = attributes.device;
    return status;
}

bool has_several_devices() {
    static const bool has_several = [] {
        int count = 0;
        return cudaGetDeviceCount(&count) == cudaSuccess && count > 1;
    }();
    return has_several;
}

// The runtime has waited for the stream that used the memory.
void release(void* data) {
    int device = 0;
    if (!has_several_devices()) {
        answer(cudaFreeAsync(data, nullptr), "free");
    } else if (answer(device_of(data, &device), "free") == 0) {
        const OnDevice guard(device);
        answer(guard.status() == cudaSuccess ? cudaFreeAsync(data, nullptr) : guard.status(), "free");
    }
}

int32_t copy(diopiStreamHandle_t handle, void* to, const void* from, uint64_t bytes, cudaMemcpyKind kind) {
    return bytes == 0 ? 0 : answer(cudaMemcpyAsync(to, from, bytes, kind, stream_of(handle)), "copy");
}

int32_t copy_to_device(diopiStreamHandle_t handle, void* to, const void* from, uint64_t bytes) {
    return copy(handle, to, from, bytes, cudaMemcpyHostToDevice);
}

int32_t copy_to_host(diopiStreamHandle_t handle, void* to, const void* from, uint64_t bytes) {
    return copy(handle, to, from, bytes, cudaMemcpyDeviceToHost);
}

int32_t copy_on_device(diopiStreamHandle_t handle, void* to, const void* from, uint64_t bytes) {
    int target = 0;
    int source = 0;
    if (bytes > 0 && has_several_devices()) {
        const int32_t failed = answer(device_of(to, &target), "copy") | answer(device_of(from, &source), "copy");
        if (failed != 0) {
            return failed;
        }
    }
    if (target == source) {
        return copy(handle, to, from, bytes, cudaMemcpyDeviceToDevice);
    }
    // No device may reach the pool of another one.
    return answer(cudaMemcpyPeerAsync(to, target, from, source, bytes, stream_of(handle)), "copy between devices");
}

}  // namespace

int32_t answer(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        text() = std::string(what) + ": " + cudaGetErrorName(status) + ": " + cudaGetErrorString(status);
        cudaGetLastError();  // or the next call would find it again
    }
    return static_cast<int32_t>(status);
}

const char* last_error() { return text().c_str(); }

int32_t register_device() {
    int count = 0;
    int32_t failed = answer(cudaGetDeviceCount(&count), "look for devices");
    if (failed == 0) {
        failed = answer(keep_freed_memory(), "open the memory pool");
    }
    if (failed != 0) {
        return failed;
    }
    const int32_t codes[] = {
        diopiRegisterDeviceMallocFunc(allocate_now),     diopiRegisterDevMemFreeFunc(release),
        diopiRegisterStreamCreateFunc(create_stream),    diopiRegisterStreamDestroyFunc(destroy_stream),
        diopiRegisterSynchronizeStreamFunc(synchronize), diopiRegisterMemcpyH2DAsyncFunc(copy_to_device),
        diopiRegisterMemcpyD2HAsyncFunc(copy_to_host),   diopiRegisterMemcpyD2DAsyncFunc(copy_on_device),
        diopiRegisterGetLastErrorFunc(last_error),       register_accelerator(),
    };
    for (const int32_t code : codes) {
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

}  // namespace diopigen::cuda
