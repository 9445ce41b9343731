// Functions that kernels of a GPU call as well: a compiler for CUDA builds them for both sides.
#ifndef DIOPI_CORE_HOST_DEVICE_H_
#define DIOPI_CORE_HOST_DEVICE_H_

#include <diopigen_kernels/host_device.h>

#include <complex>

#if defined(__CUDACC__)
#include <cuda/std/complex>
#endif

namespace diopigen::core {

// Where the functions of floats and complex numbers come from: the C++ library, or its form for both sides.
namespace numeric = ::diopigen::kernels::numeric;

}  // namespace diopigen::core

#endif  // DIOPI_CORE_HOST_DEVICE_H_
