// Functions that kernels of a GPU call as well: a compiler for CUDA builds them for both sides.
#ifndef DIOPI_CORE_HOST_DEVICE_H_
#define DIOPI_CORE_HOST_DEVICE_H_

#include <cmath>
#include <complex>

#if defined(__CUDACC__)
#include <cuda/std/cmath>
#include <cuda/std/complex>
#define DIOPI_HOST_DEVICE __host__ __device__
#else
#define DIOPI_HOST_DEVICE
#endif

namespace diopigen::core {

// Where the functions of floats and complex numbers come from: the C++ library, or its form for both sides.
#if defined(__CUDACC__)
namespace numeric = ::cuda::std;
#else
namespace numeric = ::std;
#endif

}  // namespace diopigen::core

#endif  // DIOPI_CORE_HOST_DEVICE_H_
