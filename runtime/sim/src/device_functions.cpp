#include <diopigen/accelerator.h>
#include <diopigen/device.h>
#include <diopigen/graph_compiler.h>
#include <diopigen/kernel_compiler.h>
#include <diopigen/stream_capture.h>
#include <diopigen_sim/device.h>
#include <diopigen_sim/device_functions.h>
#include <diopigen_sim/memory.h>
#include <diopigen_sim/stream.h>

#include <string>

#include "graph_runner.h"
#include "kernel_compiler.h"
#include "queue.h"
#include "stream_capture.h"

// A host of the newer form has no registration: these are null there.
#pragma weak diopiRegisterDeviceMallocFunc
#pragma weak diopiRegisterDevMemFreeFunc
#pragma weak diopiRegisterStreamCreateFunc
#pragma weak diopiRegisterStreamDestroyFunc
#pragma weak diopiRegisterSynchronizeStreamFunc
#pragma weak diopiRegisterMemcpyH2DAsyncFunc
#pragma weak diopiRegisterMemcpyD2HAsyncFunc
#pragma weak diopiRegisterMemcpyD2DAsyncFunc
#pragma weak diopiRegisterGetLastErrorFunc
#pragma weak diopigenRegisterAccelerator
#pragma weak diopigenRegisterGraphCompiler
#pragma weak diopigenRegisterKernelCompiler
#pragma weak diopigenRegisterStreamCapture

namespace sim = diopigen::sim;

namespace {

std::string& last_error() {
    thread_local std::string text;
    return text;
}

/// The status as the device functions give it. No exception gets out: only the host can be out of memory here.
template <class Body>
int32_t guarded(const Body& body) noexcept {
    try {
        const sim::Status status = body();
        if (!status.ok()) {
            last_error() = status.text();
        }
        return static_cast<int32_t>(status.code());
    } catch (...) {
        return static_cast<int32_t>(sim::Code::outOfMemory);
    }
}

/// Whether the host has no registrations, or takes this function.
template <class Function>
bool offer(int32_t (*register_function)(Function), Function function) {
    return register_function == nullptr || register_function(function) == 0;
}

int32_t deviceCount(int32_t* count) {
    *count = sim::deviceCount();
    return 0;
}

int32_t set_device(int32_t device) {
    return guarded([&] { return sim::setCurrentDevice(device); });
}

sim::EventHandle event_of(diopigenEvent_t event) { return static_cast<sim::EventHandle>(event); }

int32_t createEvent(diopigenEvent_t* event) {
    return guarded([&] {
        sim::EventHandle created = nullptr;
        const sim::Status status = sim::createEvent(&created);
        *event = created;
        return status;
    });
}

int32_t destroyEvent(diopigenEvent_t event) {
    return guarded([&] { return sim::destroyEvent(event_of(event)); });
}

int32_t recordEvent(diopigenEvent_t event, diopiStreamHandle_t stream) {
    return guarded([&] { return sim::recordEvent(event_of(event), stream); });
}

int32_t waitEvent(diopiStreamHandle_t stream, diopigenEvent_t event) {
    return guarded([&] { return sim::waitEvent(stream, event_of(event)); });
}

int32_t synchronizeEvent(diopigenEvent_t event) {
    return guarded([&] { return sim::synchronizeEvent(event_of(event)); });
}

int32_t queryEvent(diopigenEvent_t event, bool* done) {
    return guarded([&] { return sim::queryEvent(event_of(event), done); });
}

int32_t elapsedTime(diopigenEvent_t start, diopigenEvent_t end, double* milliseconds) {
    return guarded([&] { return sim::elapsedTime(event_of(start), event_of(end), milliseconds); });
}

int32_t memory_info(int32_t device, uint64_t* free, uint64_t* total) {
    return guarded([&] {
        sim::MemoryUse use;
        const sim::Status status = sim::memoryUse(device, &use);
        *total = use.limitBytes;
        *free = use.limitBytes - use.liveBytes;
        return status;
    });
}

/// A host that is no framework does not ask for it.
bool offer_accelerator() {
    const diopigenAccelerator_t table = {
        sizeof(diopigenAccelerator_t),
        deviceCount,
        set_device,
        createEvent,
        destroyEvent,
        recordEvent,
        waitEvent,
        synchronizeEvent,
        queryEvent,
        elapsedTime,
        memory_info,
    };
    return diopigenRegisterAccelerator == nullptr || diopigenRegisterAccelerator(&table) == 0;
}

int32_t compile_kernel(const char* source, const char* name, void** kernel) {
    return guarded([&] { return sim::compile_kernel(source, name, kernel); });
}

int32_t launch_kernel(void* kernel, diopiStreamHandle_t stream, const diopigenKernelBuffer_t* buffers,
                      uint64_t buffer_count, const int64_t* numbers, uint64_t number_count, int64_t items,
                      int64_t grain) {
    return guarded(
        [&] { return sim::launch_kernel(kernel, stream, buffers, buffer_count, numbers, number_count, items, grain); });
}

int32_t unload_kernel(void* kernel) {
    return guarded([&] { return sim::unload_kernel(kernel); });
}

bool offer_kernel_compiler() {
    const diopigenKernelCompiler_t table = {sizeof(diopigenKernelCompiler_t), compile_kernel, launch_kernel,
                                            unload_kernel};
    return diopigenRegisterKernelCompiler == nullptr || diopigenRegisterKernelCompiler(&table) == 0;
}

int32_t compile_graph(const char* document, void** graph) {
    return guarded([&] { return sim::compile_graph(document, graph); });
}

int32_t run_graph(void* graph, diopiStreamHandle_t stream, const diopigenGraphSlot_t* slots, uint64_t slot_count,
                  diopigenGraphStep_t step, void* state) {
    return guarded([&] { return sim::run_graph(graph, stream, slots, slot_count, step, state); });
}

int32_t unload_graph(void* graph) {
    return guarded([&] { return sim::unload_graph(graph); });
}

bool offer_graph_compiler() {
    const diopigenGraphCompiler_t table = {sizeof(diopigenGraphCompiler_t), compile_graph, run_graph, unload_graph};
    return diopigenRegisterGraphCompiler == nullptr || diopigenRegisterGraphCompiler(&table) == 0;
}

int32_t begin_capture(diopiStreamHandle_t stream) {
    return guarded([&] { return sim::begin_capture(stream); });
}

int32_t capture_of(diopiStreamHandle_t stream, uint64_t* capture) {
    return guarded([&] { return sim::capture_of(stream, capture); });
}

int32_t end_capture(diopiStreamHandle_t stream, void** graph) {
    return guarded([&] { return sim::end_capture(stream, graph); });
}

int32_t launch_captured(void* graph, diopiStreamHandle_t stream) {
    return guarded([&] { return sim::launch_captured(graph, stream); });
}

int32_t destroy_captured(void* graph) {
    return guarded([&] { return sim::destroy_captured(graph); });
}

bool offer_stream_capture() {
    const diopigenStreamCapture_t table = {
        sizeof(diopigenStreamCapture_t), begin_capture, capture_of, end_capture, launch_captured, destroy_captured};
    return diopigenRegisterStreamCapture == nullptr || diopigenRegisterStreamCapture(&table) == 0;
}

}  // namespace

void* diopigenSimMalloc(uint64_t bytes) {
    void* pointer = nullptr;
    guarded([&] { return sim::allocate(sim::currentDevice(), bytes, &pointer); });
    return pointer;
}

void diopigenSimFree(void* pointer) {
    guarded([&] { return sim::release(pointer); });
}

int32_t diopigenSimCreateStream(diopiStreamHandle_t* stream) {
    return guarded([&] { return sim::createStream(sim::currentDevice(), stream); });
}

int32_t diopigenSimDestroyStream(diopiStreamHandle_t stream) {
    return guarded([&] { return sim::destroyStream(stream); });
}

int32_t diopigenSimSynchronizeStream(diopiStreamHandle_t stream) {
    return guarded([&] { return sim::synchronize(stream); });
}

int32_t diopigenSimMemcpyH2DAsync(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return guarded([&] { return sim::copyToDevice(stream, dst, src, bytes); });
}

int32_t diopigenSimMemcpyD2HAsync(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return guarded([&] { return sim::copyToHost(stream, dst, src, bytes); });
}

int32_t diopigenSimMemcpyD2DAsync(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return guarded([&] { return sim::copyOnDevice(stream, dst, src, bytes); });
}

const char* diopigenSimGetLastErrorString(void) { return last_error().c_str(); }

void diopigenSimSetLastErrorString(const char* text) {
    guarded([&] {
        last_error() = text == nullptr ? "" : text;
        return sim::Status();
    });
}

int32_t diopigenRegisterSimulatedDevice(void) {
    const int32_t status = guarded([] { return sim::initialize(); });
    if (status != 0) {
        return status;
    }
    const bool offered[] = {
        offer(diopiRegisterDeviceMallocFunc, diopigenSimMalloc),
        offer(diopiRegisterDevMemFreeFunc, diopigenSimFree),
        offer(diopiRegisterStreamCreateFunc, diopigenSimCreateStream),
        offer(diopiRegisterStreamDestroyFunc, diopigenSimDestroyStream),
        offer(diopiRegisterSynchronizeStreamFunc, diopigenSimSynchronizeStream),
        offer(diopiRegisterMemcpyH2DAsyncFunc, diopigenSimMemcpyH2DAsync),
        offer(diopiRegisterMemcpyD2HAsyncFunc, diopigenSimMemcpyD2HAsync),
        offer(diopiRegisterMemcpyD2DAsyncFunc, diopigenSimMemcpyD2DAsync),
        offer(diopiRegisterGetLastErrorFunc, diopigenSimGetLastErrorString),
        offer_accelerator(),
        offer_kernel_compiler(),
        offer_graph_compiler(),
        offer_stream_capture(),
    };
    for (const bool good : offered) {
        if (!good) {
            last_error() = "the host refused a device function";
            return static_cast<int32_t>(sim::Code::invalidArgument);
        }
    }
    return 0;
}

uint64_t diopigenSimSubmissions(void) { return sim::Queue::submissions(); }

int32_t diopigenFinishSimulatedDevice(void) {
    return guarded([] { return sim::finish(); });
}
