#include "diopi_cuda/device.h"

#include <cuda_runtime.h>
#include <diopigen/device.h>

#include <string>

namespace diopi::cuda {

namespace {

// The runtime may ask for a text after any failure; it stays until the thread's next failure.
std::string& text() {
    thread_local std::string latest;
    return latest;
}

int32_t answer(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        text() = std::string(what) + ": " + cudaGetErrorName(status) + ": " + cudaGetErrorString(status);
        cudaGetLastError();  // or the next call would find it again
    }
    return static_cast<int32_t>(status);
}

cudaStream_t stream_of(diopiStreamHandle_t handle) { return static_cast<cudaStream_t>(handle); }

int32_t create_stream(diopiStreamHandle_t* handle) {
    cudaStream_t created = nullptr;
    const cudaError_t status = cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking);
    *handle = created;
    return answer(status, "create a stream");
}

int32_t destroy_stream(diopiStreamHandle_t handle) {
    return answer(cudaStreamDestroy(stream_of(handle)), "destroy a stream");
}

int32_t synchronize(diopiStreamHandle_t handle) {
    return answer(cudaStreamSynchronize(stream_of(handle)), "wait for a stream");
}

// The runtime's allocation knows no stream. That of the null stream is complete when the call returns, and every other
// stream may use the memory: the null stream has no work that would keep it waiting.
void* allocate(uint64_t bytes) {
    void* data = nullptr;
    if (answer(cudaMallocAsync(&data, bytes > 0 ? bytes : 1, nullptr), "allocate") != 0) {
        return nullptr;
    }
    return answer(cudaStreamSynchronize(nullptr), "allocate") == 0 ? data : nullptr;
}

// The runtime has waited for the stream that used the memory.
void release(void* data) { answer(cudaFreeAsync(data, nullptr), "free"); }

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
    return copy(handle, to, from, bytes, cudaMemcpyDeviceToDevice);
}

const char* last_error() { return text().c_str(); }

}  // namespace

int32_t register_device() {
    int count = 0;
    const int32_t found = answer(cudaGetDeviceCount(&count), "look for devices");
    if (found != 0) {
        return found;
    }
    const int32_t codes[] = {
        diopiRegisterDeviceMallocFunc(allocate),         diopiRegisterDevMemFreeFunc(release),
        diopiRegisterStreamCreateFunc(create_stream),    diopiRegisterStreamDestroyFunc(destroy_stream),
        diopiRegisterSynchronizeStreamFunc(synchronize), diopiRegisterMemcpyH2DAsyncFunc(copy_to_device),
        diopiRegisterMemcpyD2HAsyncFunc(copy_to_host),   diopiRegisterMemcpyD2DAsyncFunc(copy_on_device),
        diopiRegisterGetLastErrorFunc(last_error),
    };
    for (const int32_t code : codes) {
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

}  // namespace diopi::cuda
