#include "stream.h"

namespace diopigen {

diopiStreamHandle_t Stream::handle() {
    if (!created_) {
        diopiStreamHandle_t created = nullptr;
        requireDeviceSuccess(deviceFunctions(device_).requireCreateStream()(&created), "create a stream", device_);
        handle_ = created;
        created_ = true;
    }
    return handle_;
}

void Stream::requireFunctions() const {
    const DeviceFunctions functions = deviceFunctions(device_);
    if (!created_) {
        functions.requireCreateStream();
    }
    functions.requireSynchronizeStream();
}

void Stream::requireDestroyFunction() const {
    if (created_) {
        deviceFunctions(device_).requireDestroyStream();
    }
}

void Stream::synchronize() {
    if (created_) {
        requireDeviceSuccess(deviceFunctions(device_).requireSynchronizeStream()(handle_), "synchronise a stream",
                             device_);
    }
}

void Stream::destroy() {
    if (created_) {
        requireDeviceSuccess(deviceFunctions(device_).requireDestroyStream()(handle_), "destroy a stream", device_);
        created_ = false;
        handle_ = nullptr;
    }
}

}  // namespace diopigen
