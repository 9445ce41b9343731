// Counting by many threads. Only whole numbers: their sums do not depend on the order.
#ifndef DIOPI_CUDA_ATOMIC_H_
#define DIOPI_CUDA_ATOMIC_H_

#include "diopi_cuda/group.h"

namespace diopi::cuda {

DIOPI_DEVICE inline void atomic_increment(int* counter) {
#if defined(__CUDACC__)
    atomicAdd(counter, 1);
#else
    ++*counter;
#endif
}

}  // namespace diopi::cuda

#endif  // DIOPI_CUDA_ATOMIC_H_
