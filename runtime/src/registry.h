// The device functions that a vendor has registered. See diopigen/device.h for their contract.
#ifndef DIOPIGEN_RUNTIME_REGISTRY_H_
#define DIOPIGEN_RUNTIME_REGISTRY_H_

#include <diopigen/device.h>

#include <string>

#include "failure.h"

namespace diopigen {

/// One pointer per device function; null where none is registered.
struct DeviceFunctions {
    create_stream_func_t createStream = nullptr;
    destroy_stream_func_t destroyStream = nullptr;
    sync_stream_func_t synchronizeStream = nullptr;
    malloc_func_t allocate = nullptr;
    free_func_t free = nullptr;
    memcpy_h2d_async_func_t copyHostToDevice = nullptr;
    memcpy_d2h_async_func_t copyDeviceToHost = nullptr;
    memcpy_d2d_async_func_t copyDeviceToDevice = nullptr;
    get_last_error_string_func_t getLastErrorString = nullptr;

    // Each throws the matching diopiNoRegistered... status when the function is missing. A caller names all that it
    // is going to need before it uses the first one, so that a missing one has no partial effects.
    create_stream_func_t requireCreateStream() const;
    destroy_stream_func_t requireDestroyStream() const;
    sync_stream_func_t requireSynchronizeStream() const;
    malloc_func_t requireAllocate() const;
    free_func_t requireFree() const;
    memcpy_h2d_async_func_t requireCopyHostToDevice() const;
    memcpy_d2h_async_func_t requireCopyDeviceToHost() const;
    memcpy_d2d_async_func_t requireCopyDeviceToDevice() const;
    get_last_error_string_func_t requireGetLastErrorString() const;
};

/// The device that the calling thread has selected. Never null, never destroyed.
const DeviceFunctions* selectedDevice();

/// The number of a device that was not created before: 0 at first.
uint32_t createDevice();

/// Selects a device for the calling thread. Returns the number of the one that was selected before.
uint32_t selectDevice(uint32_t number);

/// The functions of a device as they are registered at this moment.
DeviceFunctions deviceFunctions(const DeviceFunctions* device = selectedDevice());

/// Forgets all registered functions, of every device.
void clearDeviceFunctions();

/// Throws with `text` and the device's own text about its latest failure, where it has one.
[[noreturn]] void failWithDeviceText(std::string text, const DeviceFunctions* device = selectedDevice());

/// Throws when `code`, returned by the device function that does `action`, is not 0; quotes the device's own text.
void requireDeviceSuccess(int32_t code, const char* action, const DeviceFunctions* device = selectedDevice());

}  // namespace diopigen

#endif  // DIOPIGEN_RUNTIME_REGISTRY_H_
