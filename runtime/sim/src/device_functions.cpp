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

std::string& lastError() {
    thread_local std::string text;
    return text;
}

/// The status as the device functions give it. No exception gets out: only the host can be out of memory here.
template <class Body>
int32_t guarded(const Body& body) noexcept {
    try {
        const sim::Status status = body();
        if (!status.ok()) {
            lastError() = status.text();
        }
        return static_cast<int32_t>(status.code());
    } catch (...) {
        return static_cast<int32_t>(sim::Code::outOfMemory);
    }
}

/// Whether the host has no registrations, or takes this function.
template <class Function>
bool offer(int32_t (*registerFunction)(Function), Function function) {
    return registerFunction == nullptr || registerFunction(function) == 0;
}

int32_t deviceCount(int32_t* count) {
    *count = sim::deviceCount();
    return 0;
}

int32_t setDevice(int32_t device) {
    return guarded([&] { return sim::setCurrentDevice(device); });
}

sim::EventHandle eventOf(diopigenEvent_t event) { return static_cast<sim::EventHandle>(event); }

int32_t createEvent(diopigenEvent_t* event) {
    return guarded([&] {
        sim::EventHandle created = nullptr;
        const sim::Status status = sim::createEvent(&created);
        *event = created;
        return status;
    });
}

int32_t destroyEvent(diopigenEvent_t event) {
    return guarded([&] { return sim::destroyEvent(eventOf(event)); });
}

int32_t recordEvent(diopigenEvent_t event, diopiStreamHandle_t stream) {
    return guarded([&] { return sim::recordEvent(eventOf(event), stream); });
}

int32_t waitEvent(diopiStreamHandle_t stream, diopigenEvent_t event) {
    return guarded([&] { return sim::waitEvent(stream, eventOf(event)); });
}

int32_t synchronizeEvent(diopigenEvent_t event) {
    return guarded([&] { return sim::synchronizeEvent(eventOf(event)); });
}

int32_t queryEvent(diopigenEvent_t event, bool* done) {
    return guarded([&] { return sim::queryEvent(eventOf(event), done); });
}

int32_t elapsedTime(diopigenEvent_t start, diopigenEvent_t end, double* milliseconds) {
    return guarded([&] { return sim::elapsedTime(eventOf(start), eventOf(end), milliseconds); });
}

int32_t memoryInfo(int32_t device, uint64_t* free, uint64_t* total) {
    return guarded([&] {
        sim::MemoryUse use;
        const sim::Status status = sim::memoryUse(device, &use);
        *total = use.limitBytes;
        *free = use.limitBytes - use.liveBytes;
        return status;
    });
}

/// A host that is no framework does not ask for it.
bool offerAccelerator() {
    const diopigenAccelerator_t table = {
        sizeof(diopigenAccelerator_t),
        deviceCount,
        setDevice,
        createEvent,
        destroyEvent,
        recordEvent,
        waitEvent,
        synchronizeEvent,
        queryEvent,
        elapsedTime,
        memoryInfo,
    };
    return diopigenRegisterAccelerator == nullptr || diopigenRegisterAccelerator(&table) == 0;
}

int32_t compileKernel(const char* source, const char* name, void** kernel) {
    return guarded([&] { return sim::compileKernel(source, name, kernel); });
}

int32_t launchKernel(void* kernel, diopiStreamHandle_t stream, const diopigenKernelBuffer_t* buffers,
                     uint64_t buffer_count, const int64_t* numbers, uint64_t number_count, int64_t items,
                     int64_t grain) {
    return guarded(
        [&] { return sim::launchKernel(kernel, stream, buffers, buffer_count, numbers, number_count, items, grain); });
}

int32_t unloadKernel(void* kernel) {
    return guarded([&] { return sim::unloadKernel(kernel); });
}

bool offerKernelCompiler() {
    const diopigenKernelCompiler_t table = {sizeof(diopigenKernelCompiler_t), compileKernel, launchKernel,
                                            unloadKernel};
    return diopigenRegisterKernelCompiler == nullptr || diopigenRegisterKernelCompiler(&table) == 0;
}

int32_t compileGraph(const char* document, void** graph) {
    return guarded([&] { return sim::compileGraph(document, graph); });
}

int32_t runGraph(void* graph, diopiStreamHandle_t stream, const diopigenGraphSlot_t* slots, uint64_t slot_count,
                 diopigenGraphStep_t step, void* state) {
    return guarded([&] { return sim::runGraph(graph, stream, slots, slot_count, step, state); });
}

int32_t unloadGraph(void* graph) {
    return guarded([&] { return sim::unloadGraph(graph); });
}

bool offerGraphCompiler() {
    const diopigenGraphCompiler_t table = {sizeof(diopigenGraphCompiler_t), compileGraph, runGraph, unloadGraph};
    return diopigenRegisterGraphCompiler == nullptr || diopigenRegisterGraphCompiler(&table) == 0;
}

int32_t beginCapture(diopiStreamHandle_t stream) {
    return guarded([&] { return sim::beginCapture(stream); });
}

int32_t captureOf(diopiStreamHandle_t stream, uint64_t* capture) {
    return guarded([&] { return sim::captureOf(stream, capture); });
}

int32_t endCapture(diopiStreamHandle_t stream, void** graph) {
    return guarded([&] { return sim::endCapture(stream, graph); });
}

int32_t launchCaptured(void* graph, diopiStreamHandle_t stream) {
    return guarded([&] { return sim::launchCaptured(graph, stream); });
}

int32_t destroyCaptured(void* graph) {
    return guarded([&] { return sim::destroyCaptured(graph); });
}

bool offerStreamCapture() {
    const diopigenStreamCapture_t table = {
        sizeof(diopigenStreamCapture_t), beginCapture, captureOf, endCapture, launchCaptured, destroyCaptured};
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

const char* diopigenSimGetLastErrorString(void) { return lastError().c_str(); }

void diopigenSimSetLastErrorString(const char* text) {
    guarded([&] {
        lastError() = text == nullptr ? "" : text;
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
        offerAccelerator(),
        offerKernelCompiler(),
        offerGraphCompiler(),
        offerStreamCapture(),
    };
    for (const bool good : offered) {
        if (!good) {
            lastError() = "the host refused a device function";
            return static_cast<int32_t>(sim::Code::invalidArgument);
        }
    }
    return 0;
}

uint64_t diopigenSimSubmissions(void) { return sim::Queue::submissions(); }

int32_t diopigenFinishSimulatedDevice(void) {
    return guarded([] { return sim::finish(); });
}
