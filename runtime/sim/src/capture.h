// What steps of a graph launch, captured so that later runs launch the same kernels without the host's part of a step.
#ifndef DIOPIGEN_SIM_SRC_CAPTURE_H_
#define DIOPIGEN_SIM_SRC_CAPTURE_H_

#include <diopigen_kernels/kernel.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace diopigen::sim {

class Queue;

/// A kernel and its buffers as they were launched. It may run again, with other addresses.
struct CapturedKernel {
    std::string name;
    uint64_t bytes = 0;
    std::vector<kernels::Buffer> buffers;
    kernels::KernelFunction function;
};
using CapturedKernels = std::vector<std::shared_ptr<const CapturedKernel>>;

/// While it lives, what the calling thread launches on a queue is captured. One at a time for a thread.
class Capture {
  public:
    explicit Capture(const Queue& queue);
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    /// That of the calling thread; null where there is none.
    static Capture* current();

    /// Work that is queued: a kernel, or null for what cannot be replayed, such as a copy or an event.
    void add(const Queue& queue, std::shared_ptr<const CapturedKernel> kernel);
    /// The thread waits for the device, asks it, or uses it at once: what follows may depend on the answer.
    void interrupt() { is_complete_ = false; }
    /// The kernels since the last call; nothing where the thread did more than to launch them.
    std::optional<CapturedKernels> take();

  private:
    const Queue& queue_;
    CapturedKernels kernels_;
    bool is_complete_ = true;
};

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_CAPTURE_H_
