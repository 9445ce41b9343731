// All devices of the process, made at the first use and never given back: static destructors may still free memory.
#ifndef DIOPIGEN_SIM_SRC_SYSTEM_H_
#define DIOPIGEN_SIM_SRC_SYSTEM_H_

#include <diopigen_kernels/buffer.h>
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
#include "trace_log.h"

namespace diopigen::sim {

struct Chip;

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

    Status require_device(int device) const;
    /// Of the calling thread.
    static int currentDevice();
    Status setCurrentDevice(int device);

    Status createStream(int device, StreamHandle* stream);
    /// The stream of a handle, null being the default stream of the current device.
    Status stream(StreamHandle handle, std::shared_ptr<Queue>* queue);
    /// Takes a stream out of the books.
    Status take_stream(StreamHandle handle, std::shared_ptr<Queue>* queue);
    std::vector<std::shared_ptr<Queue>> streams();
    /// Waits for the work on a stream and notes that the host has done so.
    void wait(Queue* queue);

    /// Checks [pointer, pointer + bytes) for work on `device`; `what` gives the beginning of the message, where one is
    /// needed.
    template <typename What>
    Status resolve(int device, const void* pointer, uint64_t bytes, bool write, Range* range, const What& what) {
        return is_inside(device, pointer, bytes, write, range) ? Status() : objection(device, what(), pointer, bytes);
    }
    /// Where the buffers of a kernel are for it, and their bytes in all; false where one is not in memory of the
    /// device: resolve() says why.
    bool translate(int device, const std::vector<kernels::Buffer>& buffers, kernels::SmallVector<void*, 8>* addresses,
                   uint64_t* bytes);
    /// Where a kernel finds a range of memory of the device; null where it is in no allocation, or longer than its own.
    void* kernel_address(int device, uintptr_t address, uint64_t bytes);
    Status release(void* pointer);

    /// Queues checked work: notes its uses of memory, and makes sure again, when its turn comes, that the memory is
    /// still allocated.
    Status push(Queue* queue, const Ranges& ranges, Task task);
    /// The same for work of a graph, which was checked when it was captured.
    Status push(Queue* queue, Task task);
    /// Whether the work, which is checked and small, was run at once on the calling thread, in the order of the stream.
    /// Not where a check of the environment asks for more.
    bool runAtOnce(Queue* queue, const char* name, uint64_t bytes, Work run) {
        return !settings_.faults_are_fatal() && queue->run_if_idle(name, bytes, run);
    }

    /// Whether the host may read what the stream has written, and there is nothing to check or to write down about it.
    bool is_readable(const Queue* queue) const {
        return !settings_.faults_are_fatal() && !keeps_log() && queue->is_done();
    }

    /// Waits for all streams, and writes the trace where there is one to be written.
    Status drain();
    /// What was not given back: a status, and under the memory check a report, once.
    Status check_leaks();

  private:
    explicit System(const Settings& settings);
    bool is_inside(int device, const void* pointer, uint64_t bytes, bool write, Range* range);
    Status objection(int device, const std::string& what, const void* pointer, uint64_t bytes);
    Status check_order(Queue* queue, const Task& task);
    Status explain(int device, const std::string& what, uintptr_t address);
    std::shared_ptr<Queue> add_stream(int device);

    Settings settings_;
    std::vector<std::unique_ptr<Allocator>> allocators_;
    OrderCheck order_;
    std::mutex mutex_;
    std::map<StreamHandle, std::shared_ptr<Queue>> streams_;
    std::vector<std::shared_ptr<Queue>> default_streams_;
    int next_stream_ = 0;
    std::atomic<uint64_t> removed_streams_{0};  // how often streams were taken out of the books
    std::atomic<bool> leaked_{false};
    const pid_t process_ = getpid();

    friend class OpenStream;
    friend void finish_at_exit();
};

/// The stream of a handle for the time of a call. A thread keeps the one that it used last, so that the next call that
/// names it takes no lock and counts no references. Not for those who keep the stream.
class OpenStream {
  public:
    explicit OpenStream(StreamHandle handle);
    ~OpenStream();
    OpenStream(const OpenStream&) = delete;
    OpenStream& operator=(const OpenStream&) = delete;

    /// Whether there is such a stream, and the environment can be read.
    const Status& status() const { return status_; }
    /// Whether the thread keeps it, and the host may read what it has written.
    static bool is_readable(StreamHandle handle);
    /// Copies to the host what is readable. False, with nothing copied, where there is work before it, or something is
    /// wrong.
    static bool read(StreamHandle handle, void* host, const void* device, uint64_t bytes);
    System* system() const { return stream_->system; }
    Queue* queue() const { return stream_->queue.get(); }

    /// What a thread keeps. It is the stream of the handle until streams are removed; the default one of a device.
    struct Kept {
        System* system = nullptr;
        StreamHandle handle = nullptr;
        int device = 0;
        uint64_t removed_streams = 0;
        std::shared_ptr<Queue> queue;
    };

  private:
    static bool is_kept(StreamHandle handle, int device);
    void open(StreamHandle handle, int device);

    Status status_;
    Kept* stream_ = nullptr;
};

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_SYSTEM_H_
