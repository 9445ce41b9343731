#include <c10/core/DeviceType.h>
#include <c10/util/Exception.h>
#include <diopigen/accelerator.h>
#include <diopigen/device.h>
#include <diopigen_torch/allocator.h>
#include <diopigen_torch/capture.h>
#include <diopigen_torch/device.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <deque>
#include <mutex>

#include "registry.h"

// Defined by the vendor's library; null where it has none.
#pragma weak initLibrary
#pragma weak finalizeLibrary

namespace diopigen::backend {

constinit thread_local ThreadState thread_state;

namespace {

diopigenAccelerator_t accelerator{};
// Functions that the vendor has registered, from initialize() on: the registry itself is behind a lock.
DeviceFunctions registered;
std::atomic<bool> started{false};
// Set in the child of a process that had started the device.
std::atomic<bool> forked{false};

// Streams that a device has in addition to its default one. A new one beyond them is an earlier one again, as with
// CUDA.
constexpr size_t kPooledStreams = 32;

// The streams of one device; id 0 is the default one. Streams live until the end.
struct DeviceStreams {
    std::mutex mutex;
    std::deque<diopiStreamHandle_t> handles;
    size_t requests = 0;
};

// Never destroyed: threads may still use streams while static objects go.
std::array<DeviceStreams, kMostDevices>& device_streams() {
    static auto* const streams = new std::array<DeviceStreams, kMostDevices>;
    return *streams;
}

void require_not_forked() {
    TORCH_CHECK(!forked.load(std::memory_order_relaxed), "Cannot re-initialize ",
                c10::get_privateuse1_backend(/*lower_case=*/true),
                " in forked subprocess. To use it with multiprocessing, you must use the 'spawn' start method");
}

diopiStreamHandle_t make_stream(c10::DeviceIndex device) {
    const WithDevice here(device);
    diopiStreamHandle_t handle = nullptr;
    require_done(device_functions().require_create_stream()(&handle), "make a stream");
    return handle;
}

diopiStreamHandle_t stream_handle(c10::DeviceIndex device, c10::StreamId id) {
    require_not_forked();
    DeviceStreams& streams = device_streams()[static_cast<size_t>(device)];
    const std::lock_guard<std::mutex> lock(streams.mutex);
    if (streams.handles.empty()) {
        streams.handles.push_back(make_stream(device));
    }
    TORCH_CHECK(id >= 0 && static_cast<size_t>(id) < streams.handles.size(), "there is no stream ", id, " on device ",
                static_cast<int>(device));
    return streams.handles[static_cast<size_t>(id)];
}

void require_device(c10::DeviceIndex device) {
    require_not_forked();
    const c10::DeviceIndex count = device_count();
    TORCH_CHECK(device >= 0 && device < count, "there is no device ", static_cast<int>(device), "; there are ",
                static_cast<int>(count));
}

c10::Stream stream_of(c10::DeviceIndex device, c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(kDeviceType, device), id);
}

}  // namespace

void device_fails(int32_t code, const std::string& action) {
    const auto text = device_functions().get_last_error_string;
    const char* const reason = text == nullptr ? nullptr : text();
    TORCH_CHECK(false, "the device fails to ", action, " (code ", code, ")", reason == nullptr ? "" : ": ",
                reason == nullptr ? "" : reason);
}

void initialize() {
    require_not_forked();
    static std::once_flag once;
    std::call_once(once, [] {
        TORCH_CHECK(initLibrary != nullptr, "the vendor's library has no initLibrary");
        const int32_t code = initLibrary();
        require_done(code, "start (initLibrary)");
        registered = device_functions();
        // The threads of the device are not in the child, which has only the thread that forked: its next use of the
        // device has to find out.
        pthread_atfork(nullptr, nullptr, [] {
            forked.store(true, std::memory_order_relaxed);
            thread_state.streams = {};
        });
        started.store(true, std::memory_order_release);
    });
}

bool is_initialized() noexcept { return started.load(std::memory_order_acquire); }

bool is_forked() noexcept { return forked.load(std::memory_order_relaxed); }

int32_t finalize() {
    if (!is_initialized()) {
        return 0;
    }
    const DeviceFunctions functions = device_functions();
    for (c10::DeviceIndex device = 0; device < device_count(); ++device) {
        synchronize_device(device);
    }
    device_allocator().emptyCache();
    for (DeviceStreams& streams : device_streams()) {
        for (diopiStreamHandle_t handle : streams.handles) {
            if (handle != nullptr && functions.destroy_stream != nullptr) {
                functions.destroy_stream(handle);
            }
        }
        streams.handles.clear();
    }
    return finalizeLibrary == nullptr ? 0 : finalizeLibrary();
}

c10::DeviceIndex device_count() noexcept {
    if (is_forked()) {
        return 0;
    }
    static const c10::DeviceIndex count = [] {
        try {
            initialize();
            int32_t found = 1;
            if (accelerator.device_count != nullptr && accelerator.device_count(&found) != 0) {
                found = 0;
            }
            return static_cast<c10::DeviceIndex>(found < kMostDevices ? found : kMostDevices);
        } catch (const std::exception& error) {
            TORCH_WARN("no device: ", error.what());
            return static_cast<c10::DeviceIndex>(0);
        }
    }();
    return count;
}

void set_current_device(c10::DeviceIndex device) {
    if (device == thread_state.device) {
        return;
    }
    require_device(device);
    if (accelerator.set_device != nullptr) {
        require_done(accelerator.set_device(device), "become the current device");
    }
    thread_state.device = device;
}

void restore_device(c10::DeviceIndex device) noexcept {
    if (accelerator.set_device == nullptr || accelerator.set_device(device) == 0) {
        thread_state.device = device;
    }
}

MemoryInfo memory_info(c10::DeviceIndex device) {
    require_device(device);
    MemoryInfo info;
    if (accelerator.memory_info != nullptr) {
        require_done(accelerator.memory_info(device, &info.free, &info.total), "tell its memory");
    }
    return info;
}

c10::Stream default_stream(c10::DeviceIndex device) { return stream_of(device < 0 ? thread_state.device : device, 0); }

c10::Stream new_stream(c10::DeviceIndex device) {
    const c10::DeviceIndex index = device < 0 ? thread_state.device : device;
    require_device(index);
    stream_handle(index, 0);
    DeviceStreams& streams = device_streams()[static_cast<size_t>(index)];
    const std::lock_guard<std::mutex> lock(streams.mutex);
    const size_t id = 1 + streams.requests++ % kPooledStreams;
    if (id == streams.handles.size()) {
        streams.handles.push_back(make_stream(index));
    }
    return stream_of(index, static_cast<c10::StreamId>(id));
}

c10::Stream current_stream(c10::DeviceIndex device) {
    const c10::DeviceIndex index = device < 0 ? thread_state.device : device;
    return stream_of(index, thread_state.streams[static_cast<size_t>(index)].id);
}

c10::Stream exchange_stream(c10::Stream stream) {
    const c10::Stream before = current_stream(stream.device_index());
    thread_state.streams[static_cast<size_t>(stream.device_index())] = {stream.id(), handle_of(stream), true};
    return before;
}

diopiStreamHandle_t handle_of(c10::Stream stream) { return stream_handle(stream.device_index(), stream.id()); }

diopiStreamHandle_t current_handle(c10::DeviceIndex device) {
    ThreadStream& current = thread_state.streams[static_cast<size_t>(device)];
    if (C10_UNLIKELY(!current.is_known)) {
        initialize();
        current.handle = stream_handle(device, current.id);
        current.is_known = true;
    }
    return current.handle;
}

void synchronize(c10::Stream stream) {
    const c10::DeviceIndex device = stream.device_index();
    const ThreadStream& current = thread_state.streams[static_cast<size_t>(device)];
    const bool is_current = current.is_known && current.id == stream.id();  // most often, and without a lock
    wait_for(is_current ? current.handle : handle_of(stream));
}

void wait_for(diopiStreamHandle_t stream) {
    require_no_capture(stream, "a wait of the host for the device");
    require_done(registered.require_synchronize_stream()(stream), "finish the work of a stream");
}

namespace {

std::deque<diopiStreamHandle_t> handles_of(c10::DeviceIndex device) {
    stream_handle(device, 0);
    DeviceStreams& streams = device_streams()[static_cast<size_t>(device)];
    const std::lock_guard<std::mutex> lock(streams.mutex);
    return streams.handles;
}

}  // namespace

void synchronize_device(c10::DeviceIndex device) {
    const c10::DeviceIndex index = device < 0 ? thread_state.device : device;
    require_device(index);
    for (diopiStreamHandle_t handle : handles_of(index)) {
        wait_for(handle);
    }
}

void finish_work() noexcept {
    for (c10::DeviceIndex device = 0; device < device_count(); ++device) {
        try {
            for (diopiStreamHandle_t handle : handles_of(device)) {
                if (!is_capturing(handle)) {
                    wait_for(handle);
                }
            }
        } catch (const std::exception&) {
            // The next user of the stream receives it.
        }
    }
}

Event::~Event() {
    if (event_ != nullptr) {
        accelerator.destroy_event(event_);
    }
}

void Event::record(c10::Stream stream) {
    if (event_ == nullptr && accelerator.create_event != nullptr) {
        const WithDevice here(stream.device_index());
        require_done(accelerator.create_event(&event_), "make an event");
    }
    if (event_ == nullptr) {
        backend::synchronize(stream);
        return;
    }
    require_done(accelerator.record_event(event_, handle_of(stream)), "record an event");
}

void Event::block(c10::Stream stream) const {
    if (event_ != nullptr) {
        require_done(accelerator.wait_event(handle_of(stream), event_), "wait for an event");
    }
}

bool Event::query() const {
    bool done = true;
    if (event_ != nullptr) {
        require_done(accelerator.query_event(event_, &done), "ask for an event");
    }
    return done;
}

void Event::synchronize() const {
    if (event_ != nullptr) {
        require_done(accelerator.synchronize_event(event_), "wait for an event");
    }
}

double Event::elapsed_milliseconds(const Event& end) const {
    TORCH_CHECK_NOT_IMPLEMENTED(event_ != nullptr && end.event_ != nullptr, "the device has no events to take times");
    double milliseconds = 0;
    require_done(accelerator.elapsed_time(event_, end.event_, &milliseconds), "take the time between two events");
    return milliseconds;
}

void copy_to_device(diopiStreamHandle_t stream, void* device, const void* host, uint64_t bytes) {
    if (bytes != 0) {
        require_done(registered.require_copy_host_to_device()(stream, device, host, bytes), "copy from the host");
    }
}

void copy_to_host(diopiStreamHandle_t stream, void* host, const void* device, uint64_t bytes) {
    if (bytes != 0) {
        require_done(registered.require_copy_device_to_host()(stream, host, device, bytes), "copy to the host");
    }
}

void copy_on_device(diopiStreamHandle_t stream, void* destination, const void* source, uint64_t bytes) {
    if (bytes != 0) {
        require_done(registered.require_copy_device_to_device()(stream, destination, source, bytes), "copy");
    }
}

}  // namespace diopigen::backend

int32_t diopigenRegisterAccelerator(const diopigenAccelerator_t* table) {
    if (table == nullptr || table->size != sizeof(diopigenAccelerator_t) || table->device_count == nullptr ||
        table->set_device == nullptr || table->create_event == nullptr || table->destroy_event == nullptr ||
        table->record_event == nullptr || table->wait_event == nullptr || table->synchronize_event == nullptr ||
        table->query_event == nullptr || table->elapsed_time == nullptr || table->memory_info == nullptr) {
        return 1;
    }
    diopigen::backend::accelerator = *table;
    return 0;
}
