// A graph whose steps were captured in one run, for runs with other memory.
#ifndef DIOPIGEN_SIM_SRC_REPLAY_H_
#define DIOPIGEN_SIM_SRC_REPLAY_H_

#include <diopigen/graph_compiler.h>
#include <diopigen_kernels/shape.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "capture.h"

namespace diopigen::sim {

class System;

/// A range of memory that may be anywhere in a later run: that of an input, a constant or a result, or the arena.
struct Region {
    uint64_t slot = 0;    ///< a slot in it
    uint64_t offset = 0;  ///< of this slot from the start of the range, in bytes
    uint64_t bytes = 0;
    bool is_fixed = false;  ///< whether it is the same memory in each run
};

class Replay : public std::enable_shared_from_this<Replay> {
  public:
    /// From the slots of the captured run.
    Replay(const diopigenGraphSlot_t* slots, std::vector<Region> regions);

    /// The kernels of the next step; nothing where the host has to run it each time. So it has where a kernel uses
    /// memory that is in no region, or in several.
    void add(std::optional<CapturedKernels> kernels);
    /// Whether there is a kernel to replay.
    bool is_useful() const { return kernel_count_ > 0; }

    /// One run: where its kernels find their buffers.
    class Run;
    /// Null where the host has to run all steps: a region is not memory of the device, or has another alignment than in
    /// the captured run, by which the host may have chosen other kernels.
    std::shared_ptr<const Run> start(System* system, int device, const diopigenGraphSlot_t* slots) const;

  private:
    struct Location {
        uint32_t region;
        uint64_t offset;
    };
    struct Launch {
        std::shared_ptr<const CapturedKernel> kernel;
        kernels::SmallVector<Location, 8> locations;
        std::size_t number;  // among all launches
    };
    static constexpr uint32_t kNone = UINT32_MAX;  // for a buffer without memory

    bool locate(const kernels::Buffer& buffer, Location* location);

    std::vector<Region> regions_;
    std::vector<uintptr_t> starts_;  // of the regions in the captured run
    std::vector<bool> used_;
    std::vector<std::optional<std::vector<Launch>>> steps_;
    std::size_t kernel_count_ = 0;
};

class Replay::Run : public std::enable_shared_from_this<Replay::Run> {
  public:
    Run(std::shared_ptr<const Replay> replay, const std::vector<void*>& starts);
    /// Queues the kernels of a step; false where the host has to run it.
    bool push(Queue* queue, std::size_t step) const;

  private:
    std::shared_ptr<const Replay> replay_;
    std::vector<kernels::SmallVector<void*, 8>> addresses_;
};

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_REPLAY_H_
