// The threads of one group (a block of CUDA), as a kernel sees them.
#ifndef DIOPI_CUDA_GROUP_H_
#define DIOPI_CUDA_GROUP_H_

#include <cstdint>
#include <cstring>

#include "diopi_core/host_device.h"

#if defined(__CUDACC__)
#define DIOPI_DEVICE __device__
#else
#define DIOPI_DEVICE
namespace diopigen::cuda::emulation {
void synchronize_group();
}
#endif

namespace diopigen::cuda {

// Neighbouring threads that hand values to each other without a barrier: a warp of CUDA. The emulation takes fewer, so
// that its groups of up to 32 threads have several.
#if defined(__CUDACC__)
constexpr int kLanes = 32;
#else
constexpr int kLanes = 8;
#endif

// On a GPU the size is a multiple of kLanes (launch.h sees to it). Every function that hands values between threads is
// reached by all threads of the group together, or by none.
class Group {
  public:
    // `memory` is common to the threads: first scratch for reductions, then what the kernel asked for.
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

    // The value of the thread `lane` of the kLanes neighbours that this thread is one of.
    template <typename T>
    DIOPI_DEVICE T of_lane(const T& value, int lane) const {
        T result = value;
#if defined(__CUDACC__)
        uint32_t bits[(sizeof(T) + 3) / 4] = {};
        std::memcpy(bits, &value, sizeof(T));
        for (uint32_t& word : bits) {
            word = __shfl_sync(0xffffffffu, word, lane);
        }
        std::memcpy(static_cast<void*>(&result), bits, sizeof(T));
#else
        static_assert(sizeof(T) <= kScratch, "the scratch of a thread is too small for this value");
        T* values = reinterpret_cast<T*>(memory_);
        values[thread_] = value;
        sync();
        result = values[thread_ / kLanes * kLanes + lane];
        sync();
#endif
        return result;
    }

    // The values of `width` neighbours, a power of two up to kLanes, joined; each of them gets the result. Values are
    // joined pair by pair in the order of the threads.
    template <typename T, typename Join>
    DIOPI_DEVICE T reduce_within(int width, T value, const Join& join) const {
        for (int step = 1; step < width; step *= 2) {
            const int lane = thread_ % kLanes;
            const T other = of_lane(value, lane ^ step);
            value = (lane & step) != 0 ? join(other, value) : join(value, other);
        }
        return value;
    }

    // The values of all threads, joined; every thread gets the result. The order of joining depends on the size of
    // the group alone. It is a barrier, too.
    template <typename T, typename Join>
    DIOPI_DEVICE T reduce(T value, const Join& join) const {
        static_assert(sizeof(T) <= kScratch, "the scratch of a thread is too small for this value");
        value = reduce_within(size_ < kLanes ? size_ : kLanes, value, join);
        if (size_ > kLanes) {
            T* values = reinterpret_cast<T*>(memory_);
            if (thread_ % kLanes == 0) {
                values[thread_ / kLanes] = value;
            }
            sync();
            value = values[0];
            for (int k = 1; k < size_ / kLanes; ++k) {
                value = join(value, values[k]);
            }
        }
        sync();
        return value;
    }

    template <typename T>
    DIOPI_DEVICE T sum(T value) const {
        return reduce(value, Sum());
    }

    // The values of the threads before this one, joined by addition; `total` gets the sum of all.
    template <typename T>
    DIOPI_DEVICE T sum_before(T value, T& total) const {
        T* values = reinterpret_cast<T*>(memory_);
        const int lane = thread_ % kLanes;
        const int lanes = size_ < kLanes ? size_ : kLanes;
        T own = value;  // and those before it among the neighbours
        for (int reach = 1; reach < lanes; reach *= 2) {
            const T other = of_lane(own, lane >= reach ? lane - reach : lane);
            own = lane >= reach ? other + own : own;
        }
        T before = of_lane(own, lane > 0 ? lane - 1 : 0);
        if (lane == 0) {
            before = T(0);
        }
        if (lane == lanes - 1) {
            values[thread_ / kLanes] = own;
        }
        sync();
        T sum = T(0);
        for (int k = 0; k < (size_ + kLanes - 1) / kLanes; ++k) {
            if (k == thread_ / kLanes) {
                before = sum + before;
            }
            sum = sum + values[k];
        }
        total = sum;
        sync();
        return before;
    }

  private:
    struct Sum {
        template <typename T>
        DIOPI_DEVICE T operator()(const T& a, const T& b) const {
            return a + b;
        }
    };

    static constexpr int kScratch = 32;  // bytes for each thread

    int thread_;
    int size_;
    char* memory_;
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_GROUP_H_
