// Kernels of the simulated device: a lambda, and the buffers that it reads and writes.
//
//     const Status status = launch(stream, "diopiAdd", {reads(a, bytes), writes(out, bytes)}, [=](const Kernel& k) {
//         const float* from = k.in<float>(0);
//         float* to = k.out<float>(1);
//         ...
//     });
//
// The lambda runs on the worker thread of the stream, after launch() has returned: it captures by value. As part of a
// compiled graph it may run again, with other memory, and on two threads at once: it changes nothing that it captures.
// Device pointers do not work in it; it asks for those that the device itself uses. So whatever a kernel touches is
// named.
#ifndef DIOPIGEN_SIM_LAUNCH_H_
#define DIOPIGEN_SIM_LAUNCH_H_

#include <diopigen_kernels/kernel.h>
#include <diopigen_sim/status.h>
#include <diopigen_sim/stream.h>

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace diopigen::sim {

using kernels::Access;
using kernels::Buffer;
using kernels::Kernel;
using kernels::KernelFunction;
using kernels::KernelReference;
using kernels::reads;
using kernels::updates;
using kernels::writes;

/// A kernel is queued, or, if that costs more than the kernel (its buffers have 4 KiB at most, and its stream is idle),
/// it may run on the calling thread before launch() returns. Not under any check of the environment, nor with delays.
enum class When { later, atOnceIfSmall };

/// Queues a kernel. Everything is checked before it returns, and a failure queues nothing: the stream, every range
/// (memory of the stream's device, allocated, large enough), and what the chip can do (chip.h). `name` is that of the
/// operator; behind a slash it may say which of its kernels this is ("diopiSoftmax/max").
Status launch(StreamHandle stream, const char* name, std::vector<Buffer> buffers, KernelFunction kernel,
              When when = When::later);
/// The same by reference: the buffers and the kernel are moved from where the kernel is queued.
Status launch(StreamHandle stream, const char* name, std::vector<Buffer>&& buffers, const KernelReference& kernel,
              When when);

/// A kernel that waits for others, such as those of collectives. Where its stream is idle and no check or delay is
/// switched on, `attempt` runs on the calling thread first: true where it did all that the kernel does, false where
/// what it has not done is left to the kernel, which is queued then. It must not wait for long.
using Attempt = std::function<bool(const Kernel&)>;
Status launch(StreamHandle stream, const char* name, std::vector<Buffer> buffers, KernelFunction kernel,
              const Attempt& attempt);

/// launch() for a kernel of any type that may run at once, in the form that kernels::Call::launch takes.
struct LaunchAtOnceIfSmall {
    template <typename Function>
    Status operator()(StreamHandle stream, const char* name, std::vector<Buffer>&& buffers, Function kernel) const {
        static_assert(std::is_invocable_v<const Function&, const Kernel&>, "a kernel may run more than once");
        return launch(stream, name, std::move(buffers), KernelReference(kernel), When::atOnceIfSmall);
    }
};
inline constexpr LaunchAtOnceIfSmall launchAtOnceIfSmall{};

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_LAUNCH_H_
