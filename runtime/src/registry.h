// The device functions that a vendor has registered. See diopigen/device.h for their contract.
#ifndef DIOPIGEN_RUNTIME_REGISTRY_H_
#define DIOPIGEN_RUNTIME_REGISTRY_H_

#include <diopigen/device.h>

#include <string>

#include "failure.h"

namespace diopigen {

/// One pointer per device function; null where none is registered.
struct DeviceFunctions {
    create_stream_func_t create_stream = nullptr;
    destroy_stream_func_t destroy_stream = nullptr;
    sync_stream_func_t synchronize_stream = nullptr;
    malloc_func_t allocate = nullptr;
    free_func_t free = nullptr;
    memcpy_h2d_async_func_t copy_host_to_device = nullptr;
    memcpy_d2h_async_func_t copy_device_to_host = nullptr;
    memcpy_d2d_async_func_t copy_device_to_device = nullptr;
    get_last_error_string_func_t get_last_error_string = nullptr;

    // Each throws the matching diopiNoRegistered... status when the function is missing. A caller names all that it
    // is going to need before it uses the first one, so that a missing one has no partial effects.
    create_stream_func_t require_create_stream() const;
    destroy_stream_func_t require_destroy_stream() const;
    sync_stream_func_t require_synchronize_stream() const;
    malloc_func_t require_allocate() const;
    free_func_t require_free() const;
    memcpy_h2d_async_func_t require_copy_host_to_device() const;
    memcpy_d2h_async_func_t require_copy_device_to_host() const;
    memcpy_d2d_async_func_t require_copy_device_to_device() const;
    get_last_error_string_func_t require_get_last_error_string() const;
};

/// The device that the calling thread has selected. Never null, never destroyed.
const DeviceFunctions* selected_device();

/// The number of a device that was not created before: 0 at first.
uint32_t create_device();

/// Selects a device for the calling thread. Returns the number of the one that was selected before.
uint32_t select_device(uint32_t number);

/// The functions of a device as they are registered at this moment.
DeviceFunctions device_functions(const DeviceFunctions* device = selected_device());

/// Forgets all registered functions, of every device.
void clear_device_functions();

/// Throws with `text` and the device's own text about its latest failure, where it has one.
[[noreturn]] void fail_with_device_text(std::string text, const DeviceFunctions* device = selected_device());

/// Throws when `code`, returned by the device function that does `action`, is not 0; quotes the device's own text.
void require_device_success(int32_t code, const char* action, const DeviceFunctions* device = selected_device());

}  // namespace diopigen

#endif  // DIOPIGEN_RUNTIME_REGISTRY_H_
