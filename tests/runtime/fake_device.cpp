#include "fake_device.h"

#include <diopigen/device.h>
#include <diopigen/host.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace fake {
namespace {

// Far outside what a process can map: reading such an address is a fault.
constexpr uintptr_t deviceBit = uintptr_t{1} << 62;
constexpr int32_t brokenCode = 7;

struct State {
    std::recursive_mutex mutex;
    std::map<diopiStreamHandle_t, std::vector<std::function<void()>>> streams;
    std::set<const void*> allocations;
    std::array<int, 9> calls{};
    std::array<bool, 9> broken{};
    std::string error_text;
    // The first stream of all is a null handle, which is a valid one.
    uintptr_t nextStream = 0;
    int tooEarly = 0;
};

State& state() {
    static State instance;
    return instance;
}

using Lock = std::lock_guard<std::recursive_mutex>;

bool countAndTestBroken(Function function) {
    const auto index = static_cast<size_t>(function);
    ++state().calls[index];
    return state().broken[index];
}

void noteIfPending() {
    for (const auto& stream : state().streams) {
        state().tooEarly += stream.second.empty() ? 0 : 1;
    }
}

void* deviceAddress(void* address) { return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) | deviceBit); }

int32_t createStream(diopiStreamHandle_t* stream) {
    const Lock lock(state().mutex);
    if (countAndTestBroken(Function::createStream)) {
        return brokenCode;
    }
    *stream = reinterpret_cast<void*>(state().nextStream++);
    state().streams[*stream] = {};
    return 0;
}

int32_t destroyStream(diopiStreamHandle_t stream) {
    const Lock lock(state().mutex);
    if (countAndTestBroken(Function::destroyStream)) {
        return brokenCode;
    }
    if (!state().streams.at(stream).empty()) {
        ++state().tooEarly;
    }
    state().streams.erase(stream);
    return 0;
}

int32_t synchronize_stream(diopiStreamHandle_t stream) {
    const Lock lock(state().mutex);
    if (countAndTestBroken(Function::synchronize_stream)) {
        return brokenCode;
    }
    std::vector<std::function<void()>> work;
    work.swap(state().streams.at(stream));
    for (const auto& item : work) {
        item();
    }
    return 0;
}

void* allocate(uint64_t bytes) {
    const Lock lock(state().mutex);
    if (countAndTestBroken(Function::allocate)) {
        return nullptr;
    }
    void* const memory = std::malloc(bytes);
    if (memory == nullptr) {
        return nullptr;
    }
    std::memset(memory, 0xA5, bytes);
    state().allocations.insert(deviceAddress(memory));
    return deviceAddress(memory);
}

void release(void* pointer) {
    const Lock lock(state().mutex);
    countAndTestBroken(Function::free);
    noteIfPending();
    if (state().allocations.erase(pointer) != 1) {
        std::abort();
    }
    std::free(hostAddress(pointer));
}

int32_t copy(Function function, diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    const Lock lock(state().mutex);
    if (countAndTestBroken(function)) {
        return brokenCode;
    }
    launch(stream, [dst, src, bytes] { std::memcpy(dst, src, bytes); });
    return 0;
}

int32_t copy_host_to_device(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return copy(Function::copy_host_to_device, stream, hostAddress(dst), src, bytes);
}

int32_t copy_device_to_host(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return copy(Function::copy_device_to_host, stream, dst, hostAddress(src), bytes);
}

int32_t copy_device_to_device(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return copy(Function::copy_device_to_device, stream, hostAddress(dst), hostAddress(src), bytes);
}

const char* get_last_error_string() {
    const Lock lock(state().mutex);
    countAndTestBroken(Function::get_last_error_string);
    return state().error_text.empty() ? nullptr : state().error_text.c_str();
}

void registerOne(Function function) {
    switch (function) {
        case Function::createStream:
            diopiRegisterStreamCreateFunc(createStream);
            break;
        case Function::destroyStream:
            diopiRegisterStreamDestroyFunc(destroyStream);
            break;
        case Function::synchronize_stream:
            diopiRegisterSynchronizeStreamFunc(synchronize_stream);
            break;
        case Function::allocate:
            diopiRegisterDeviceMallocFunc(allocate);
            break;
        case Function::free:
            diopiRegisterDevMemFreeFunc(release);
            break;
        case Function::copy_host_to_device:
            diopiRegisterMemcpyH2DAsyncFunc(copy_host_to_device);
            break;
        case Function::copy_device_to_host:
            diopiRegisterMemcpyD2HAsyncFunc(copy_device_to_host);
            break;
        case Function::copy_device_to_device:
            diopiRegisterMemcpyD2DAsyncFunc(copy_device_to_device);
            break;
        case Function::get_last_error_string:
            diopiRegisterGetLastErrorFunc(get_last_error_string);
            break;
    }
}

void registerIf(bool (*wanted)(Function, Function), Function missing) {
    diopiHostReset();
    for (int index = 0; index < 9; ++index) {
        const auto function = static_cast<Function>(index);
        if (wanted(function, missing)) {
            registerOne(function);
        }
    }
}

}  // namespace

int calls(Function function) {
    const Lock lock(state().mutex);
    return state().calls[static_cast<size_t>(function)];
}

void reset() {
    const Lock lock(state().mutex);
    state().calls.fill(0);
    state().tooEarly = 0;
    // Each test sees the null handle once.
    if (state().streams.empty()) {
        state().nextStream = 0;
    }
}

void registerAll() {
    {
        const Lock lock(state().mutex);
        state().broken.fill(false);
        state().error_text.clear();
    }
    registerIf([](Function, Function) { return true; }, Function::createStream);
}

void registerAllBut(Function missing) {
    registerIf([](Function function, Function left) { return function != left; }, missing);
}

void breakFunction(Function function, const std::string& text) {
    const Lock lock(state().mutex);
    state().broken[static_cast<size_t>(function)] = true;
    state().error_text = text;
}

void launch(diopiStreamHandle_t stream, std::function<void()> work) {
    const Lock lock(state().mutex);
    state().streams.at(stream).push_back(std::move(work));
}

void* hostAddress(const void* address) {
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) & ~deviceBit);
}

int liveAllocations() {
    const Lock lock(state().mutex);
    return static_cast<int>(state().allocations.size());
}

int liveStreams() {
    const Lock lock(state().mutex);
    return static_cast<int>(state().streams.size());
}

int tooEarly() {
    const Lock lock(state().mutex);
    return state().tooEarly;
}

}  // namespace fake
