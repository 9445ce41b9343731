// The CUDA runtime as the library uses it: every call checked, one stream for the call that is running.
//
// The emulated library (docs/cuda.md) finds emulation/include/cuda_runtime.h under this name.
#ifndef DIOPI_CUDA_RUNTIME_H_
#define DIOPI_CUDA_RUNTIME_H_

#include <cuda_runtime.h>

#include "diopi_core/error.h"

namespace diopigen::cuda {

// What checks arguments and converts values is that of the CPU library.
using namespace diopigen::core;  // NOLINT

// Throws an Error with CUDA's text where `status` is one.
void check(cudaError_t status, const char* what);

// The stream of the call that runs on this thread, as begin_call set it.
cudaStream_t stream();

// Brings `bytes` from the device to the host and waits: for results whose size or status depends on data.
void read_back(void* to, const void* from, size_t bytes);
// Queues a copy of a few bytes from the host, which may change as soon as this returns.
void send(void* to, const void* from, size_t bytes);
void clear(void* data, size_t bytes);

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_RUNTIME_H_
