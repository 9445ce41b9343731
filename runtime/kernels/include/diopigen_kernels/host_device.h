// Functions that kernels of a GPU call as well: a compiler for CUDA builds them for both sides.
#ifndef DIOPIGEN_KERNELS_HOST_DEVICE_H_
#define DIOPIGEN_KERNELS_HOST_DEVICE_H_

#include <cmath>

#if defined(__CUDACC__)
#include <cuda/std/cmath>
#define DIOPI_HOST_DEVICE __host__ __device__
#else
#define DIOPI_HOST_DEVICE
#endif

namespace diopigen::kernels {

// Where the functions of floats come from: the C++ library, or its form for both sides.
#if defined(__CUDACC__)
namespace numeric = ::cuda::std;
#else
namespace numeric = ::std;
#endif

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_HOST_DEVICE_H_
