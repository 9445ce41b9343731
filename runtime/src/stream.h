// A context's stream, made on first use.
#ifndef DIOPIGEN_RUNTIME_STREAM_H_
#define DIOPIGEN_RUNTIME_STREAM_H_

#include <diopi/diopirt.h>

#include "registry.h"

namespace diopigen {

/// Of the device that was selected when it was made. Not safe for use from two threads at once, as its context.
class Stream {
  public:
    Stream() = default;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    /// The vendor's handle; makes the stream when there is none yet.
    diopiStreamHandle_t handle();

    const DeviceFunctions* device() const { return device_; }

    /// Throws what handle() and then synchronize() would throw for lack of a registered function.
    void require_functions() const;

    /// Throws what destroy() would throw for lack of a registered function.
    void require_destroy_function() const;

    /// Waits for all work on the stream; nothing to do when there is no stream.
    void synchronize();

    /// Ends the stream, if there is one. The caller has synchronised.
    void destroy();

  private:
    const DeviceFunctions* const device_ = selected_device();
    // In addition to the handle, because a null handle is a valid stream.
    bool created_ = false;
    diopiStreamHandle_t handle_ = nullptr;
};

}  // namespace diopigen

#endif  // DIOPIGEN_RUNTIME_STREAM_H_
