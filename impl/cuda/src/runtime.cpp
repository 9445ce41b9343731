#include "diopi_cuda/runtime.h"

#include <string>

#include "diopi_core/dense.h"
#include "diopi_cuda/check.h"
#include "diopi_cuda/memory.h"

namespace diopigen {

namespace {
thread_local cudaStream_t current = nullptr;
}

void core::begin_call(const char* operator_name, diopiContextHandle_t ctx) {
    cuda::begin_checks(operator_name);
    diopiStreamHandle_t handle = nullptr;
    const diopiError_t status = diopiGetStream(ctx, &handle);
    if (status != diopiSuccess) {
        fail("the host gives no stream", status);
    }
    current = static_cast<cudaStream_t>(handle);
}

namespace cuda {

cudaStream_t stream() { return current; }

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        const std::string text = cudaGetErrorString(status);
        cudaGetLastError();  // or the next launch would find it again
        fail(std::string(what) + ": " + text);
    }
}

void read_back(void* to, const void* from, size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, current), "copy to the host");
    check(cudaStreamSynchronize(current), "wait for the stream");
    reject_findings();
}

void send(void* to, const void* from, size_t bytes) {
    // From pageable memory the copy has left the host's memory when the call returns.
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, current), "copy to the device");
}

}  // namespace cuda

// ---- Memory of buffers: in the order of the stream, so that nothing waits. ----

void core::Buffer::Free::operator()(char* data) const { cudaFreeAsync(data, current); }

void core::Buffer::allocate(int64_t bytes) {
    void* data = nullptr;
    cuda::check(cuda::allocate(&data, static_cast<size_t>(bytes), current), "allocate a buffer");
    data_.reset(static_cast<char*>(data));
}

}  // namespace diopigen
