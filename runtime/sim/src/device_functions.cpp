#include <diopigen/device.h>
#include <diopigen_sim/device.h>
#include <diopigen_sim/device_functions.h>
#include <diopigen_sim/memory.h>
#include <diopigen_sim/stream.h>

#include <string>

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
    };
    for (const bool good : offered) {
        if (!good) {
            lastError() = "the host refused a device function";
            return static_cast<int32_t>(sim::Code::invalidArgument);
        }
    }
    return 0;
}

int32_t diopigenFinishSimulatedDevice(void) {
    return guarded([] { return sim::finish(); });
}
