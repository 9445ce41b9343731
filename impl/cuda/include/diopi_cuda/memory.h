// Device memory from the pool of the current device, in the order of a stream.
#ifndef DIOPI_CUDA_MEMORY_H_
#define DIOPI_CUDA_MEMORY_H_

#include <cuda_runtime.h>

#include <cstddef>

namespace diopigen::cuda {

// Lets the pool of the current device keep what is freed for later allocations of this process. A pool that is left as
// it is gives its memory back to the driver at every synchronisation, and takes it anew for the next operator.
// cudaErrorNotSupported where the device has no pools.
cudaError_t keep_freed_memory();

// Where the device has too little memory, waits for it once: what was freed on streams can be used when they are there.
cudaError_t allocate(void** data, size_t bytes, cudaStream_t stream);

// What allocations of the current device may still take, that which the pool keeps counted in, and all it has.
cudaError_t memory_info(size_t* available, size_t* total);

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_MEMORY_H_
