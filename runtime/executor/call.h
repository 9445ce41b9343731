// One call: tensors, generators and arguments from a frame, and what came of it as another.
#pragma once

#include <vector>

#include "frames.h"
#include "libraries.h"
#include "pages.h"
#include "second_thread.h"

namespace diopigen::executor {

/// The context of all calls. A call that leaves temporaries behind gets none of them in the next one's way.
class Device {
  public:
    Device(const Runtime& runtime, std::int32_t byteDtype);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    const Runtime& runtime() const { return runtime_; }
    diopiContextHandle_t context() const { return context_; }
    /// Returns whether the library has registered device memory; else tensors are on the host.
    bool isAccelerator() const { return isAccelerator_; }
    std::int32_t byteDtype() const { return byteDtype_; }
    Pages& pages() { return pages_; }
    SecondThread& secondThread() { return secondThread_; }
    void freeTemporaries();
    void close();

  private:
    const Runtime& runtime_;
    diopiContextHandle_t context_ = nullptr;
    std::int32_t byteDtype_;
    bool isAccelerator_ = false;
    Pages pages_;
    SecondThread secondThread_;
};

/// Makes the call of a frame, whose first field has been read: the function, and whether another thread calls it.
Writer resultOf(Device& device, const Library& library, void* function, bool isElsewhere, Reader& frame);

}  // namespace diopigen::executor
