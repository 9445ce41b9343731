#include "stream.h"

namespace diopigen {

diopiStreamHandle_t Stream::handle() {
    if (!created_) {
        diopiStreamHandle_t created = nullptr;
        requireDeviceSuccess(deviceFunctions().requireCreateStream()(&created), "create a stream");
        handle_ = created;
        created_ = true;
    }
    return handle_;
}

void Stream::requireFunctions() const {
    const DeviceFunctions functions = deviceFunctions();
    if (!created_) {
        functions.requireCreateStream();
    }
    functions.requireSynchronizeStream();
}

void Stream::requireDestroyFunction() const {
    if (created_) {
        deviceFunctions().requireDestroyStream();
    }
}

void Stream::synchronize() {
    if (created_) {
        requireDeviceSuccess(deviceFunctions().requireSynchronizeStream()(handle_), "synchronise a stream");
    }
}

void Stream::destroy() {
    if (created_) {
        requireDeviceSuccess(deviceFunctions().requireDestroyStream()(handle_), "destroy a stream");
        created_ = false;
        handle_ = nullptr;
    }
}

}  // namespace diopigen
