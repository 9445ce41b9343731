#include "registry.h"

#include <deque>
#include <mutex>

namespace diopigen {
namespace {

std::mutex registryMutex;

uint32_t createdDevices = 0;

/// The devices by number, of which the first is there. Never destroyed: memory may be freed until the process ends.
std::deque<DeviceFunctions>& devices() {
    static auto* const all = new std::deque<DeviceFunctions>(1);
    return *all;
}

struct Selected {
    uint32_t number = 0;
    DeviceFunctions* functions = nullptr;
};
thread_local Selected selected;

DeviceFunctions& registered() { return selected.functions != nullptr ? *selected.functions : devices().front(); }

template <class Function>
int32_t registerFunction(Function DeviceFunctions::*slot, Function function) {
    if (function == nullptr) {
        return 1;
    }
    const std::lock_guard<std::mutex> lock(registryMutex);
    registered().*slot = function;
    return 0;
}

template <class Function>
Function require(Function function, diopiError_t status, const char* registration) {
    if (function == nullptr) {
        throw Failure(status, std::string("no device function registered through ") + registration);
    }
    return function;
}

}  // namespace

const DeviceFunctions* selectedDevice() { return &registered(); }

uint32_t createDevice() {
    const std::lock_guard<std::mutex> lock(registryMutex);
    // The first one is there from the beginning.
    if (createdDevices > 0) {
        devices().emplace_back();
    }
    return createdDevices++;
}

uint32_t selectDevice(uint32_t number) {
    const std::lock_guard<std::mutex> lock(registryMutex);
    if (number >= devices().size()) {
        fail("parameter 'device' is " + std::to_string(number) + ", which is no device");
    }
    const uint32_t before = selected.number;
    selected = {number, &devices()[number]};
    return before;
}

DeviceFunctions deviceFunctions(const DeviceFunctions* device) {
    const std::lock_guard<std::mutex> lock(registryMutex);
    return *device;
}

void clearDeviceFunctions() {
    const std::lock_guard<std::mutex> lock(registryMutex);
    for (DeviceFunctions& device : devices()) {
        device = DeviceFunctions{};
    }
}

void failWithDeviceText(std::string text, const DeviceFunctions* device) {
    const get_last_error_string_func_t getLastErrorString = deviceFunctions(device).getLastErrorString;
    const char* const explanation = getLastErrorString == nullptr ? nullptr : getLastErrorString();
    if (explanation != nullptr && *explanation != '\0') {
        text.append(": ").append(explanation);
    }
    fail(text);
}

void requireDeviceSuccess(int32_t code, const char* action, const DeviceFunctions* device) {
    if (code != 0) {
        const std::string text = std::string("the device could not ") + action;
        failWithDeviceText(text + " (code " + std::to_string(code) + ")", device);
    }
}

create_stream_func_t DeviceFunctions::requireCreateStream() const {
    return require(createStream, diopiNoRegisteredStreamCreateFunction, "diopiRegisterStreamCreateFunc");
}

destroy_stream_func_t DeviceFunctions::requireDestroyStream() const {
    return require(destroyStream, diopiNoRegisteredStreamDestoryFunction, "diopiRegisterStreamDestroyFunc");
}

sync_stream_func_t DeviceFunctions::requireSynchronizeStream() const {
    return require(synchronizeStream, diopiNoRegisteredStreamSyncFunction, "diopiRegisterSynchronizeStreamFunc");
}

malloc_func_t DeviceFunctions::requireAllocate() const {
    return require(allocate, diopiNoRegisteredDeviceMemoryMallocFunction, "diopiRegisterDeviceMallocFunc");
}

free_func_t DeviceFunctions::requireFree() const {
    return require(free, diopiNoRegisteredDeviceMemoryFreeFunction, "diopiRegisterDevMemFreeFunc");
}

memcpy_h2d_async_func_t DeviceFunctions::requireCopyHostToDevice() const {
    return require(copyHostToDevice, diopiNoRegisteredHost2DeviceMemoryCopyFunction, "diopiRegisterMemcpyH2DAsyncFunc");
}

memcpy_d2h_async_func_t DeviceFunctions::requireCopyDeviceToHost() const {
    return require(copyDeviceToHost, diopiNoRegisteredDevice2HostMemoryCopyFunction, "diopiRegisterMemcpyD2HAsyncFunc");
}

memcpy_d2d_async_func_t DeviceFunctions::requireCopyDeviceToDevice() const {
    return require(copyDeviceToDevice, diopiNoRegisteredDevice2DdeviceMemoryCopyFunction,
                   "diopiRegisterMemcpyD2DAsyncFunc");
}

get_last_error_string_func_t DeviceFunctions::requireGetLastErrorString() const {
    return require(getLastErrorString, diopiNoRegisteredGetLastErrorFunction, "diopiRegisterGetLastErrorFunc");
}

}  // namespace diopigen

using diopigen::DeviceFunctions;
using diopigen::registerFunction;

int32_t diopiRegisterDeviceMallocFunc(malloc_func_t func) { return registerFunction(&DeviceFunctions::allocate, func); }

int32_t diopiRegisterDevMemFreeFunc(free_func_t func) { return registerFunction(&DeviceFunctions::free, func); }

int32_t diopiRegisterStreamCreateFunc(create_stream_func_t func) {
    return registerFunction(&DeviceFunctions::createStream, func);
}

int32_t diopiRegisterStreamDestroyFunc(destroy_stream_func_t func) {
    return registerFunction(&DeviceFunctions::destroyStream, func);
}

int32_t diopiRegisterSynchronizeStreamFunc(sync_stream_func_t func) {
    return registerFunction(&DeviceFunctions::synchronizeStream, func);
}

int32_t diopiRegisterMemcpyH2DAsyncFunc(memcpy_h2d_async_func_t func) {
    return registerFunction(&DeviceFunctions::copyHostToDevice, func);
}

int32_t diopiRegisterMemcpyD2HAsyncFunc(memcpy_d2h_async_func_t func) {
    return registerFunction(&DeviceFunctions::copyDeviceToHost, func);
}

int32_t diopiRegisterMemcpyD2DAsyncFunc(memcpy_d2d_async_func_t func) {
    return registerFunction(&DeviceFunctions::copyDeviceToDevice, func);
}

int32_t diopiRegisterGetLastErrorFunc(get_last_error_string_func_t func) {
    return registerFunction(&DeviceFunctions::getLastErrorString, func);
}
