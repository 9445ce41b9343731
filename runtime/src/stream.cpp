#include "stream.h"

namespace diopigen {

diopiStreamHandle_t Stream::handle() {
    if (!created_) {
        diopiStreamHandle_t created = nullptr;
        require_device_success(device_functions(device_).require_create_stream()(&created), "create a stream", device_);
        handle_ = created;
        created_ = true;
    }
    return handle_;
}

void Stream::require_functions() const {
    const DeviceFunctions functions = device_functions(device_);
    if (!created_) {
        functions.require_create_stream();
    }
    functions.require_synchronize_stream();
}

void Stream::require_destroy_function() const {
    if (created_) {
        device_functions(device_).require_destroy_stream();
    }
}

void Stream::synchronize() {
    if (created_) {
        require_device_success(device_functions(device_).require_synchronize_stream()(handle_), "synchronise a stream",
                               device_);
    }
}

void Stream::destroy() {
    if (created_) {
        require_device_success(device_functions(device_).require_destroy_stream()(handle_), "destroy a stream",
                               device_);
        created_ = false;
        handle_ = nullptr;
    }
}

}  // namespace diopigen
