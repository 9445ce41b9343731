// The threads of one group (a block of CUDA), as a kernel sees them.
#ifndef DIOPI_CUDA_GROUP_H_
#define DIOPI_CUDA_GROUP_H_

#include <cstdint>

#include "diopi_cpu/shared.h"

#if defined(__CUDACC__)
#define DIOPI_DEVICE __device__
#else
#define DIOPI_DEVICE
namespace diopi::cuda::emulation {
void synchronize_group();
}
#endif

namespace diopi::cuda {

class Group {
  public:
    // `memory` is shared by the threads: first scratch for reductions, then what the kernel asked for.
    DIOPI_DEVICE Group(int thread, int size, char* memory) : thread_(thread), size_(size), memory_(memory) {}

    static int64_t scratch_bytes(int threads) { return static_cast<int64_t>(threads) * kScratch; }

    DIOPI_DEVICE int thread() const { return thread_; }
    // A power of two.
    DIOPI_DEVICE int size() const { return size_; }

    // All threads of the group reach it, or none.
    DIOPI_DEVICE void sync() const {
#if defined(__CUDACC__)
        __syncthreads();
#else
        emulation::synchronize_group();
#endif
    }

    // The memory that the kernel asked for at its launch.
    template <typename T>
    DIOPI_DEVICE T* shared() const {
        return reinterpret_cast<T*>(memory_ + static_cast<int64_t>(size_) * kScratch);
    }

    // The values of all threads, joined; every thread gets the result. The order of joining depends on the size of
    // the group alone.
    template <typename T, typename Join>
    DIOPI_DEVICE T reduce(T value, Join join) const {
        static_assert(sizeof(T) <= kScratch, "the scratch of a thread is too small for this value");
        T* values = reinterpret_cast<T*>(memory_);
        values[thread_] = value;
        sync();
        for (int half = size_ / 2; half > 0; half /= 2) {
            if (thread_ < half) {
                values[thread_] = join(values[thread_], values[thread_ + half]);
            }
            sync();
        }
        const T result = values[0];
        sync();
        return result;
    }

    template <typename T>
    DIOPI_DEVICE T sum(T value) const {
        return reduce(value, [](T a, T b) { return a + b; });
    }

    // The values of the threads before this one, joined by addition; `total` gets the sum of all.
    template <typename T>
    DIOPI_DEVICE T sum_before(T value, T& total) const {
        T* values = reinterpret_cast<T*>(memory_);
        values[thread_] = value;
        sync();
        for (int reach = 1; reach < size_; reach *= 2) {
            const T other = thread_ >= reach ? values[thread_ - reach] : T(0);
            sync();
            values[thread_] = values[thread_] + other;
            sync();
        }
        total = values[size_ - 1];
        const T before = thread_ > 0 ? values[thread_ - 1] : T(0);
        sync();
        return before;
    }

  private:
    static constexpr int kScratch = 32;  // bytes for each thread

    int thread_;
    int size_;
    char* memory_;
};

}  // namespace diopi::cuda

#endif  // DIOPI_CUDA_GROUP_H_
