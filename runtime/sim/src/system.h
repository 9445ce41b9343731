// All devices of the process, made at the first use and never given back: static destructors may still free memory.
#ifndef DIOPIGEN_SIM_SRC_SYSTEM_H_
#define DIOPIGEN_SIM_SRC_SYSTEM_H_

#include <diopigen_kernels/shape.h>
#include <diopigen_sim/status.h>
#include <diopigen_sim/stream.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "allocator.h"
#include "order.h"
#include "queue.h"
#include "settings.h"

namespace diopigen::sim {

struct Chip;

/// A range of device memory that was checked: where it lies for kernels, and whose it is.
struct Range {
    void* address = nullptr;
    Allocation* allocation = nullptr;
    uint64_t index = 0;  ///< of the allocation
    MemoryAccess access;
};

/// Bytes of work that runs at once: to hand it over would cost more.
constexpr uint64_t kSmall = 4096;

using Ranges = kernels::SmallVector<Range, 4>;

class System {
  public:
    /// The one of this process; the status says what is wrong with the environment.
    static Status get(System** system);
    /// The same, and the stream of a handle.
    static Status open(StreamHandle handle, System** system, std::shared_ptr<Queue>* queue);

    const Settings& settings() const { return settings_; }
    int deviceCount() const { return settings_.devices; }
    Allocator& allocator(int device) { return *allocators_[static_cast<std::size_t>(device)]; }
    OrderCheck& order() { return order_; }
    std::atomic<const Chip*> chip{nullptr};

    Status requireDevice(int device) const;
    /// Of the calling thread.
    static int currentDevice();
    Status setCurrentDevice(int device);

    Status createStream(int device, StreamHandle* stream);
    /// The stream of a handle, null being the default stream of the current device.
    Status stream(StreamHandle handle, std::shared_ptr<Queue>* queue);
    /// Takes a stream out of the books.
    Status takeStream(StreamHandle handle, std::shared_ptr<Queue>* queue);
    std::vector<std::shared_ptr<Queue>> streams();
    /// Waits for the work on a stream and notes that the host has done so.
    void wait(Queue* queue);

    /// Checks [pointer, pointer + bytes) for work on `device`; `what` gives the beginning of the message, where one is
    /// needed.
    template <typename What>
    Status resolve(int device, const void* pointer, uint64_t bytes, bool write, Range* range, const What& what) {
        return isInside(device, pointer, bytes, write, range) ? Status() : objection(device, what(), pointer, bytes);
    }
    Status release(void* pointer);

    /// Queues checked work: notes its uses of memory, and makes sure again, when its turn comes, that the memory is
    /// still allocated.
    Status push(const std::shared_ptr<Queue>& queue, const Ranges& ranges, Task task);
    /// Whether the work, which is checked and small, was run at once on the calling thread, in the order of the stream.
    /// Not where a check of the environment asks for more.
    bool runAtOnce(Queue* queue, const char* name, uint64_t bytes, const std::function<void()>& run);

    /// Waits for all streams, and writes the trace where there is one to be written.
    Status drain();
    /// What was not given back: a status, and under the memory check a report, once.
    Status checkLeaks();

  private:
    explicit System(const Settings& settings);
    bool isInside(int device, const void* pointer, uint64_t bytes, bool write, Range* range);
    Status objection(int device, const std::string& what, const void* pointer, uint64_t bytes);
    Status explain(int device, const std::string& what, uintptr_t address);
    std::shared_ptr<Queue> addStream(int device);

    Settings settings_;
    std::vector<std::unique_ptr<Allocator>> allocators_;
    OrderCheck order_;
    std::mutex mutex_;
    std::map<StreamHandle, std::shared_ptr<Queue>> streams_;
    std::vector<std::shared_ptr<Queue>> defaultStreams_;
    int nextStream_ = 0;
    std::atomic<bool> leaked_{false};
    const pid_t process_ = getpid();

    friend void finishAtExit();
};

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_SYSTEM_H_
