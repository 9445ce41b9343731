// Kernels on the host. The threads of for_each run one after another; those of a group take turns, each until it comes
// to a barrier, on a stack of its own: so a missing barrier shows as a wrong result, and a barrier that some threads
// leave out ends the process. Device memory is open to the process while a kernel runs, and closed otherwise.
//
// DIOPI_CUDA_EMULATION_ORDER=reversed runs threads and groups from the last to the first: a kernel whose result depends
// on the order gives another one then.
#ifndef DIOPI_CUDA_EMULATION_LAUNCH_H_
#define DIOPI_CUDA_EMULATION_LAUNCH_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

#include "diopi_core/threads.h"

namespace diopigen::cuda::emulation {

using core::FunctionRef;

// Opens the memory of a device to this process while it lives; without a number, that of the device whose work runs.
class Access {
  public:
    Access();
    explicit Access(int device);
    ~Access();
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

  private:
    int device_;
};

bool is_reversed();

// Does the work at once or, where DIOPI_CUDA_EMULATION_STREAMS is `lazy`, not before the stream is synchronised: so
// work on a stream that is not ordered after another's shows as a wrong result. The null stream, which is one of the
// thread's device, never waits. An error where the stream is another device's than the thread's, as a launch has it.
cudaError_t submit(cudaStream_t stream, std::function<void()> work);

// The bytes of a kernel's object, which are all that a launch copies.
class Kernel {
  public:
    template <typename Body>
    explicit Kernel(const Body& body) : Kernel(&body, sizeof(Body)) {
        static_assert(std::is_trivially_copyable_v<Body>, "a launch copies nothing but bytes");
        static_assert(alignof(Body) <= alignof(std::max_align_t));
    }
    const void* body() const { return bytes_.data(); }

  private:
    Kernel(const void* body, size_t bytes);

    std::vector<std::max_align_t> bytes_;
};

// Launches a kernel. The types of kernels end at `call`, a function: a library has thousands of them. It does nothing
// where `guard` is not null and not 0 at the time of its run.
using CallEach = void (*)(const void* body, int64_t i);
cudaError_t launch_each(cudaStream_t stream, const int32_t* guard, int64_t count, Kernel kernel, CallEach call);
using CallGroup = void (*)(const void* body, int64_t group, int thread, int threads, void* memory);
cudaError_t launch_groups(cudaStream_t stream, const int32_t* guard, int64_t count, int threads, int64_t shared_bytes,
                          Kernel kernel, CallGroup call);

// How many threads a group has that asks for `threads`: few, since each switch between them costs time.
int group_size(int threads);

// Calls `body(group, thread, memory)` for all threads of all groups.
void for_groups(int64_t count, int threads, int64_t shared_bytes, FunctionRef<void(int64_t, int, void*)> body);

}  // namespace diopigen::cuda::emulation

#endif  // DIOPI_CUDA_EMULATION_LAUNCH_H_
