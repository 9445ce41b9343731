#include "system.h"

#include <diopigen_kernels/parallel.h>
#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "arena.h"
#include "fault.h"
#include "stream_capture.h"
#include "text.h"
#include "trace_log.h"

namespace diopigen::sim {
namespace {

// In this model (fault_handler.cpp) they are read without a call, which every launch would make several times.
#define DIOPIGEN_SIM_FAST __attribute__((tls_model("initial-exec"))) thread_local
DIOPIGEN_SIM_FAST int current = 0;

// The stream that the calling thread used last; null while a call uses it. A pointer: statics that end after the
// thread's own objects may still use streams.
DIOPIGEN_SIM_FAST OpenStream::Kept* kept = nullptr;
DIOPIGEN_SIM_FAST bool is_thread_ending = false;

void let_go() { delete std::exchange(kept, nullptr); }

// Lets go of it when the thread ends.
struct Keeper {
    void keep(OpenStream::Kept* stream) {
        let_go();
        kept = stream;
    }
    ~Keeper() {
        let_go();
        is_thread_ending = true;
    }
};
thread_local Keeper keeper;

constexpr int kLeakExitStatus = 23;  // as LeakSanitizer's
constexpr std::size_t kReportedLeaks = 20;

// Threads that help with a kernel are its threads in reports of faults.
constexpr kernels::ThreadScope kScope = {
    [] { return static_cast<const void*>(running()); },
    [](const void* kernel) {
        use_signal_stack();
        set_running(*static_cast<const Running*>(kernel));
    },
    [] { set_running({}); },
};

}  // namespace

void finish_at_exit() {
    System* system = nullptr;
    if (!System::get(&system).ok()) {
        return;
    }
    if (getpid() != system->process_) {
        return;  // a child: the workers are the parent's
    }
    const Status drained = system->drain();
    if (!drained.ok()) {
        std::fprintf(stderr, "diopi-sim: %s\n", drained.text().c_str());
    }
    (void)system->check_leaks();
    std::vector<std::shared_ptr<Queue>> ending;
    {
        const std::lock_guard<std::mutex> lock(system->mutex_);
        ending.swap(system->default_streams_);
        ending.resize(static_cast<std::size_t>(system->deviceCount()));
        system->default_streams_.resize(ending.size());
        for (auto& entry : system->streams_) {
            ending.push_back(std::move(entry.second));
        }
        system->streams_.clear();
        ++system->removed_streams_;
    }
    ending.clear();  // joins the workers
    if (system->leaked_) {
        std::fflush(nullptr);
        _exit(kLeakExitStatus);
    }
}

System::System(const Settings& settings) : settings_(settings) {
    for (int device = 0; device < settings_.devices; ++device) {
        allocators_.push_back(std::make_unique<Allocator>(device, settings_));
    }
    default_streams_.resize(allocators_.size());
}

Status System::get(System** system) {
    struct Created {
        Status status;
        System* system = nullptr;
    };
    static const Created* const created = [] {
        auto* const result = new Created;
        Settings settings;
        result->status = read_settings(&settings);
        if (result->status.ok()) {
            void* frame = nullptr;
            backtrace(&frame, 1);  // loads what the first call needs, before a signal handler needs it
            seconds_now();
            if (!settings.trace.empty()) {
                open_trace_file(settings.trace);
            }
            result->system = new System(settings);
            install_fault_handler();
            kernels::setThreadScope(&kScope);
            use_signal_stack();
            std::atexit(finish_at_exit);
        }
        return result;
    }();
    *system = created->system;
    return created->system != nullptr ? Status() : created->status;
}

Status System::open(StreamHandle handle, System** system, std::shared_ptr<Queue>* queue) {
    const Status status = get(system);
    return status.ok() ? (*system)->stream(handle, queue) : status;
}

Status System::require_device(int device) const {
    if (device >= 0 && device < settings_.devices) {
        return {};
    }
    return {Code::invalidArgument, "there is no device " + std::to_string(device) + " among the " +
                                       std::to_string(settings_.devices) + " of DIOPI_SIM_DEVICES"};
}

int System::currentDevice() { return current; }

Status System::setCurrentDevice(int device) {
    const Status status = require_device(device);
    if (status.ok()) {
        current = device;
    }
    return status;
}

std::shared_ptr<Queue> System::add_stream(int device) {
    return std::make_shared<Queue>(device, next_stream_++, settings_);
}

Status System::createStream(int device, StreamHandle* stream) {
    if (const Status status = require_device(device); !status.ok()) {
        return status;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::shared_ptr<Queue> created = add_stream(device);
    streams_.emplace(created.get(), created);
    *stream = created.get();
    return {};
}

Status System::stream(StreamHandle handle, std::shared_ptr<Queue>* queue) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (handle == nullptr) {
        std::shared_ptr<Queue>& created = default_streams_[static_cast<std::size_t>(current)];
        if (created == nullptr) {
            created = add_stream(current);
        }
        *queue = created;
        return {};
    }
    const auto found = streams_.find(handle);
    if (found == streams_.end()) {
        return {Code::invalidArgument,
                hex(reinterpret_cast<uintptr_t>(handle)) + " is no stream, or one that was destroyed"};
    }
    *queue = found->second;
    return {};
}

Status System::take_stream(StreamHandle handle, std::shared_ptr<Queue>* queue) {
    if (handle == nullptr) {
        return {Code::invalidArgument, "the default stream cannot be destroyed"};
    }
    Status status = stream(handle, queue);
    if (status.ok()) {
        status = require_no_capture(**queue, "the end of a stream");
    }
    if (!status.ok()) {
        return status;
    }
    let_go();
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.erase(handle);
    ++removed_streams_;
    return status;
}

OpenStream::OpenStream(StreamHandle handle) {
    const int device = handle == nullptr ? current : 0;
    if (is_kept(handle, device)) {
        stream_ = std::exchange(kept, nullptr);
    } else {
        open(handle, device);
    }
}

bool OpenStream::is_kept(StreamHandle handle, int device) {
    return kept != nullptr && kept->handle == handle && kept->device == device &&
           kept->removed_streams == kept->system->removed_streams_;
}

bool OpenStream::is_readable(StreamHandle handle) {
    return is_kept(handle, handle == nullptr ? current : 0) && kept->system->is_readable(kept->queue.get());
}

bool OpenStream::read(StreamHandle handle, void* host, const void* device, uint64_t bytes) {
    if (!is_readable(handle) || location_of(reinterpret_cast<uintptr_t>(host)).device >= 0) {
        return false;
    }
    const auto address = reinterpret_cast<uintptr_t>(device);
    const void* const source = kept->system->kernel_address(kept->queue->device(), address, bytes);
    if (source == nullptr) {
        return false;
    }
    std::memcpy(host, source, bytes);
    return true;
}

void OpenStream::open(StreamHandle handle, int device) {
    System* system = nullptr;
    status_ = System::get(&system);
    if (!status_.ok()) {
        return;
    }
    // Before the stream is looked up: where one is removed in between, this is not used again.
    auto opened = std::make_unique<Kept>(Kept{system, handle, device, system->removed_streams_, nullptr});
    status_ = system->stream(handle, &opened->queue);
    stream_ = status_.ok() ? opened.release() : nullptr;
}

OpenStream::~OpenStream() {
    // Not a stream that was removed: its thread would stay for as long as this one.
    const bool is_alive = stream_ != nullptr && stream_->removed_streams == stream_->system->removed_streams_;
    if (is_alive && !is_thread_ending) {
        keeper.keep(stream_);
    } else {
        delete stream_;
    }
}

std::vector<std::shared_ptr<Queue>> System::streams() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::shared_ptr<Queue>> found;
    for (const auto& queue : default_streams_) {
        if (queue != nullptr) {
            found.push_back(queue);
        }
    }
    for (const auto& entry : streams_) {
        found.push_back(entry.second);
    }
    return found;
}

void System::wait(Queue* queue) {
    if (settings_.order_check) {
        const Clock clock = order_.snapshot(queue->number());
        queue->wait();
        order_.host_waited(clock);
    } else {
        queue->wait();
    }
    (void)write_trace_file();  // what goes wrong there is said at the end
}

Status System::check_order(Queue* queue, const Task& task) {
    std::vector<MemoryAccess> accesses;
    for (const Range& range : task.uses) {
        accesses.push_back(range.access);
    }
    const std::shared_ptr<StreamCapture> capture = queue->capture();
    OrderCheck& order = capture == nullptr ? order_ : capture->order();
    const std::string name = task.label();
    const auto other = order.begin(queue->number(), name, accesses);
    if (!other) {
        return {};
    }
    const std::string stream = std::to_string(other->stream);
    const std::string text =
        name + " on stream " + std::to_string(queue->number()) + (other->mine.write ? " writes" : " reads") +
        " bytes " + std::to_string(other->mine.first) + " to " + std::to_string(other->mine.last) + ", which " +
        other->name + " on stream " + stream + (other->write ? " writes" : " reads") + "; nothing orders the two";
    const Allocation* about = nullptr;
    for (const Range& range : task.uses) {
        about = range.index == other->mine.allocation ? range.allocation : about;
    }
    return fault(settings_, Code::unordered, "missing synchronisation", text, about,
                 "let the second stream wait for an event of the first, or synchronise the first");
}

Status System::push(Queue* queue, Task task) {
    if (settings_.order_check) {
        if (Status status = check_order(queue, task); !status.ok()) {
            return status;
        }
    }
    queue->push(std::move(task));
    return {};
}

Status System::push(Queue* queue, const Ranges& ranges, Task task) {
    if (settings_.order_check) {
        task.uses.assign(ranges.begin(), ranges.end());
    }
    if (settings_.memory_check) {
        task.run = [this, ranges, name = task.name, number = queue->number(), run = std::move(task.run)] {
            for (const Range& range : ranges) {
                const Allocation* const one = range.allocation;
                if (one != nullptr && (one->state != Allocation::kLive || one->index != range.index)) {
                    (void)fault(settings_, Code::invalidPointer, "use after free",
                                name + " on stream " + std::to_string(number) +
                                    " starts after its memory was freed; it was queued before",
                                one, "synchronise the stream before the memory is freed");
                }
            }
            run();
        };
    }
    return push(queue, std::move(task));
}

Status System::drain() {
    for (const std::shared_ptr<Queue>& queue : streams()) {
        wait(queue.get());
    }
    return write_trace_file();
}

Status System::check_leaks() {
    std::vector<const Allocation*> leaks;
    uint64_t bytes = 0;
    for (const auto& memory : allocators_) {
        for (const Allocation* const leak : memory->live()) {
            leaks.push_back(leak);
            bytes += leak->bytes;
        }
    }
    if (leaks.empty()) {
        return {};
    }
    const bool report = settings_.memory_check && !leaked_.exchange(true);
    for (std::size_t i = 0; report && i < std::min(leaks.size(), kReportedLeaks); ++i) {
        write_report("leak", "memory was never freed", leaks[i], "free it when the last tensor over it ends");
    }
    std::string text = "leak: " + std::to_string(leaks.size()) + " allocations with " + std::to_string(bytes) +
                       " bytes were never freed";
    if (report) {
        const char* const cut = leaks.size() > kReportedLeaks ? "; the first 20 are above" : "";
        std::fprintf(stderr, "diopi-sim: %s%s\n", text.c_str(), cut);
    }
    return {Code::invalidPointer, std::move(text)};
}

}  // namespace diopigen::sim
