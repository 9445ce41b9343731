#include "registry.h"

#include <deque>
#include <mutex>

namespace diopigen {
namespace {

std::mutex registry_mutex;

uint32_t created_devices = 0;

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
int32_t register_function(Function DeviceFunctions::*slot, Function function) {
    if (function == nullptr) {
        return 1;
    }
    const std::lock_guard<std::mutex> lock(registry_mutex);
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

const DeviceFunctions* selected_device() { return &registered(); }

uint32_t create_device() {
    const std::lock_guard<std::mutex> lock(registry_mutex);
    // The first one is there from the beginning.
    if (created_devices > 0) {
        devices().emplace_back();
    }
    return created_devices++;
}

uint32_t select_device(uint32_t number) {
    const std::lock_guard<std::mutex> lock(registry_mutex);
    if (number >= devices().size()) {
        fail("parameter 'device' is " + std::to_string(number) + ", which is no device");
    }
    const uint32_t before = selected.number;
    selected = {number, &devices()[number]};
    return before;
}

DeviceFunctions device_functions(const DeviceFunctions* device) {
    const std::lock_guard<std::mutex> lock(registry_mutex);
    return *device;
}

void clear_device_functions() {
    const std::lock_guard<std::mutex> lock(registry_mutex);
    for (DeviceFunctions& device : devices()) {
        device = DeviceFunctions{};
    }
}

void fail_with_device_text(std::string text, const DeviceFunctions* device) {
    const get_last_error_string_func_t get_last_error_string = device_functions(device).get_last_error_string;
    const char* const explanation = get_last_error_string == nullptr ? nullptr : get_last_error_string();
    if (explanation != nullptr && *explanation != '\0') {
        text.append(": ").append(explanation);
    }
    fail(text);
}

void require_device_success(int32_t code, const char* action, const DeviceFunctions* device) {
    if (code != 0) {
        const std::string text = std::string("the device could not ") + action;
        fail_with_device_text(text + " (code " + std::to_string(code) + ")", device);
    }
}

create_stream_func_t DeviceFunctions::require_create_stream() const {
    return require(create_stream, diopiNoRegisteredStreamCreateFunction, "diopiRegisterStreamCreateFunc");
}

destroy_stream_func_t DeviceFunctions::require_destroy_stream() const {
    return require(destroy_stream, diopiNoRegisteredStreamDestoryFunction, "diopiRegisterStreamDestroyFunc");
}

sync_stream_func_t DeviceFunctions::require_synchronize_stream() const {
    return require(synchronize_stream, diopiNoRegisteredStreamSyncFunction, "diopiRegisterSynchronizeStreamFunc");
}

malloc_func_t DeviceFunctions::require_allocate() const {
    return require(allocate, diopiNoRegisteredDeviceMemoryMallocFunction, "diopiRegisterDeviceMallocFunc");
}

free_func_t DeviceFunctions::require_free() const {
    return require(free, diopiNoRegisteredDeviceMemoryFreeFunction, "diopiRegisterDevMemFreeFunc");
}

memcpy_h2d_async_func_t DeviceFunctions::require_copy_host_to_device() const {
    return require(copy_host_to_device, diopiNoRegisteredHost2DeviceMemoryCopyFunction,
                   "diopiRegisterMemcpyH2DAsyncFunc");
}

memcpy_d2h_async_func_t DeviceFunctions::require_copy_device_to_host() const {
    return require(copy_device_to_host, diopiNoRegisteredDevice2HostMemoryCopyFunction,
                   "diopiRegisterMemcpyD2HAsyncFunc");
}

memcpy_d2d_async_func_t DeviceFunctions::require_copy_device_to_device() const {
    return require(copy_device_to_device, diopiNoRegisteredDevice2DdeviceMemoryCopyFunction,
                   "diopiRegisterMemcpyD2DAsyncFunc");
}

get_last_error_string_func_t DeviceFunctions::require_get_last_error_string() const {
    return require(get_last_error_string, diopiNoRegisteredGetLastErrorFunction, "diopiRegisterGetLastErrorFunc");
}

}  // namespace diopigen

using diopigen::DeviceFunctions;
using diopigen::register_function;

int32_t diopiRegisterDeviceMallocFunc(malloc_func_t func) {
    return register_function(&DeviceFunctions::allocate, func);
}

int32_t diopiRegisterDevMemFreeFunc(free_func_t func) { return register_function(&DeviceFunctions::free, func); }

int32_t diopiRegisterStreamCreateFunc(create_stream_func_t func) {
    return register_function(&DeviceFunctions::create_stream, func);
}

int32_t diopiRegisterStreamDestroyFunc(destroy_stream_func_t func) {
    return register_function(&DeviceFunctions::destroy_stream, func);
}

int32_t diopiRegisterSynchronizeStreamFunc(sync_stream_func_t func) {
    return register_function(&DeviceFunctions::synchronize_stream, func);
}

int32_t diopiRegisterMemcpyH2DAsyncFunc(memcpy_h2d_async_func_t func) {
    return register_function(&DeviceFunctions::copy_host_to_device, func);
}

int32_t diopiRegisterMemcpyD2HAsyncFunc(memcpy_d2h_async_func_t func) {
    return register_function(&DeviceFunctions::copy_device_to_host, func);
}

int32_t diopiRegisterMemcpyD2DAsyncFunc(memcpy_d2d_async_func_t func) {
    return register_function(&DeviceFunctions::copy_device_to_device, func);
}

int32_t diopiRegisterGetLastErrorFunc(get_last_error_string_func_t func) {
    return register_function(&DeviceFunctions::get_last_error_string, func);
}
