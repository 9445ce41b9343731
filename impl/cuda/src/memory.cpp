#include "diopi_cuda/memory.h"

#include <cstdint>

namespace diopigen::cuda {

namespace {

cudaError_t pool_of_current_device(cudaMemPool_t* pool) {
    int device = 0;
    int has_pools = 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess) {
        status = cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, device);
    }
    if (status == cudaSuccess && has_pools == 0) {
        status = cudaErrorNotSupported;
    }
    return status == cudaSuccess ? cudaDeviceGetDefaultMemPool(pool, device) : status;
}

}  // namespace

cudaError_t keep_freed_memory() {
    cudaMemPool_t pool = nullptr;
    const cudaError_t status = pool_of_current_device(&pool);
    uint64_t everything = UINT64_MAX;
    return status == cudaSuccess ? cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &everything) : status;
}

cudaError_t allocate(void** data, size_t bytes, cudaStream_t stream) {
    const size_t size = bytes > 0 ? bytes : 1;
    const cudaError_t status = cudaMallocAsync(data, size, stream);
    if (status != cudaErrorMemoryAllocation) {
        return status;
    }
    cudaGetLastError();  // or the next call would find it again
    const cudaError_t waited = cudaDeviceSynchronize();
    return waited == cudaSuccess ? cudaMallocAsync(data, size, stream) : waited;
}

cudaError_t memory_info(size_t* available, size_t* total) {
    cudaMemPool_t pool = nullptr;
    uint64_t reserved = 0;
    uint64_t used = 0;
    cudaError_t status = cudaMemGetInfo(available, total);
    if (status == cudaSuccess) {
        status = pool_of_current_device(&pool);
    }
    if (status == cudaSuccess) {
        status = cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved);
    }
    if (status == cudaSuccess) {
        status = cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
    }
    *available += static_cast<size_t>(reserved - used);
    return status;
}

}  // namespace diopigen::cuda
