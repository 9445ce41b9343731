// The device functions of the host runtime over the CUDA runtime.
#ifndef DIOPI_CUDA_DEVICE_H_
#define DIOPI_CUDA_DEVICE_H_

#include <cstdint>

#include "diopi_cpu/error.h"

namespace diopi::cuda {

// Registers all nine. 0 on success; CUDA's own code where there is no device.
int32_t register_device();

}  // namespace diopi::cuda

#endif  // DIOPI_CUDA_DEVICE_H_
