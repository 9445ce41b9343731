// How kernels are launched. A kernel is a callable object, most often a lambda marked DIOPI_KERNEL that captures by
// value; it is written once and runs on a GPU, or on the host where the emulated library is built.
//
//   for_each(count, body)              body(i) for all i, in any order, each by one thread
//   for_groups(count, threads, ...)    body(group, k) for all k, each by the threads of one group (group.h)
//
// Where a check of the call has found something (check.h), kernels do nothing.
#ifndef DIOPI_CUDA_LAUNCH_H_
#define DIOPI_CUDA_LAUNCH_H_

#include <algorithm>
#include <cstdint>

#include "diopi_cuda/check.h"
#include "diopi_cuda/group.h"
#include "diopi_cuda/runtime.h"

#if defined(__CUDACC__)
#define DIOPI_KERNEL __device__
#else
#define DIOPI_KERNEL
#endif
#if defined(DIOPI_CUDA_EMULATION)
#include "emulation/launch.h"
#endif

namespace diopigen::cuda {

constexpr int kThreads = 256;
constexpr int64_t kMaxGroups = 0x7fffffff;
constexpr int64_t kMaxShared = 48 << 10;  // bytes that a launch has without asking for more

// What a GPU launches: the emulation would take anything.
inline void require_launch(int64_t groups, int threads, int64_t shared_bytes) {
    require(groups <= kMaxGroups, "more groups than a launch can have");
    require(threads > 0 && threads <= kThreads && threads % kLanes == 0, "a group has whole warps");
    require(Group::scratch_bytes(threads) + shared_bytes <= kMaxShared, "a group asks for too much shared memory");
}

#if defined(__CUDACC__)

namespace detail {

template <typename Body>
__global__ void __launch_bounds__(kThreads) each(Body body, int64_t count, const int32_t* guard) {
    if (guard != nullptr && *guard != 0) {
        return;
    }
    const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += stride) {
        body(i);
    }
}

template <typename Body>
__global__ void __launch_bounds__(kThreads) groups(Body body, const int32_t* guard) {
    if (guard != nullptr && *guard != 0) {
        return;
    }
    extern __shared__ __align__(16) char memory[];
    Group group(static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), memory);
    body(group, static_cast<int64_t>(blockIdx.x));
}

}  // namespace detail

template <typename Body>
void for_each(int64_t count, const Body& body) {
    if (count > 0) {
        const int64_t blocks = std::min<int64_t>((count + kThreads - 1) / kThreads, 1 << 20);
        detail::each<<<static_cast<unsigned>(blocks), kThreads, 0, stream()>>>(body, count, guard());
        check(cudaGetLastError(), "launch");
    }
}

template <typename Body>
void for_groups(int64_t count, int threads, int64_t shared_bytes, const Body& body) {
    require_launch(count, threads, shared_bytes);
    if (count > 0) {
        const auto bytes = static_cast<size_t>(Group::scratch_bytes(threads) + shared_bytes);
        detail::groups<<<static_cast<unsigned>(count), static_cast<unsigned>(threads), bytes, stream()>>>(body,
                                                                                                          guard());
        check(cudaGetLastError(), "launch");
    }
}

#elif defined(DIOPI_CUDA_EMULATION)

template <typename Body>
void for_each(int64_t count, const Body& body) {
    if (count > 0) {
        const auto call = [](const void* stored, int64_t i) { (*static_cast<const Body*>(stored))(i); };
        check(emulation::launch_each(stream(), guard(), count, emulation::Kernel(body), call), "launch");
    }
}

template <typename Body>
void for_groups(int64_t count, int threads, int64_t shared_bytes, const Body& body) {
    require_launch(count, threads, shared_bytes);
    const int used = emulation::group_size(threads);
    if (count > 0) {
        const auto call = [](const void* stored, int64_t k, int thread, int threads_of_group, void* memory) {
            Group group(thread, threads_of_group, static_cast<char*>(memory));
            (*static_cast<const Body*>(stored))(group, k);
        };
        const int64_t bytes = Group::scratch_bytes(used) + shared_bytes;
        check(emulation::launch_groups(stream(), guard(), count, used, bytes, emulation::Kernel(body), call), "launch");
    }
}

#endif

// The threads that a group which asks for `threads` gets, where a kernel has to know it before its launch.
inline int available_threads(int threads) {
#if defined(DIOPI_CUDA_EMULATION)
    return emulation::group_size(threads);
#else
    return threads;
#endif
}

// A power of two that suits rows of `length` elements.
inline int threads_for(int64_t length) {
    int threads = 32;
    while (threads < kThreads && threads < length) {
        threads *= 2;
    }
    return threads;
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_LAUNCH_H_
