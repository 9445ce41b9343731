// Absolute values in double, without overflow on the way.
#ifndef DIOPI_CUDA_SIZE_H_
#define DIOPI_CUDA_SIZE_H_

#include "diopi_core/math.h"
#include "diopi_cuda/group.h"

namespace diopigen::cuda {

DIOPI_DEVICE inline double size_of_element(double x) { return core::absolute(x); }
DIOPI_DEVICE inline double size_of_element(const core::Complex128& x) { return core::absolute(x); }
DIOPI_DEVICE inline double square_of_size(double x) { return x * x; }
DIOPI_DEVICE inline double square_of_size(const core::Complex128& x) {
    return x.real() * x.real() + x.imag() * x.imag();
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_SIZE_H_
