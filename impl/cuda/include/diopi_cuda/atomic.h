// Values that many threads update. Only integers: their sums and maxima do not depend on the order.
#ifndef DIOPI_CUDA_ATOMIC_H_
#define DIOPI_CUDA_ATOMIC_H_

#include "diopi_cuda/group.h"

namespace diopigen::cuda {

DIOPI_DEVICE inline void atomic_increment(int* counter) {
#if defined(__CUDACC__)
    atomicAdd(counter, 1);
#else
    ++*counter;
#endif
}

DIOPI_DEVICE inline void atomic_max(int64_t* largest, int64_t value) {
#if defined(__CUDACC__)
    static_assert(sizeof(long long) == sizeof(int64_t), "atomicMax of long long is one of int64_t");
    atomicMax(reinterpret_cast<long long*>(largest), static_cast<long long>(value));
#else
    *largest = *largest < value ? value : *largest;
#endif
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ATOMIC_H_
