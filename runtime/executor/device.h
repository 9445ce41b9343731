// The context in which calls are made, and the memory of their tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "frames.h"
#include "libraries.h"
#include "pages.h"
#include "second_thread.h"

namespace diopigen::executor {

/// Sizes or strides as the interface has them; valid as long as `values`.
inline diopiSize_t size_of(const std::vector<std::int64_t>& values) {
    return diopiSize_t{values.empty() ? nullptr : values.data(), static_cast<std::int64_t>(values.size())};
}

/// The context of all calls. A call that leaves temporaries behind gets none of them in the next one's way.
class Device {
  public:
    Device(const Runtime& runtime, std::int32_t byte_dtype);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    const Runtime& runtime() const { return runtime_; }
    diopiContextHandle_t context() const { return context_; }
    /// Returns whether the library has registered device memory; else tensors are on the host.
    bool is_accelerator() const { return is_accelerator_; }
    std::int32_t byte_dtype() const { return byte_dtype_; }
    Pages& pages() { return pages_; }
    SecondThread& second_thread() { return second_thread_; }
    void free_temporaries();
    void close();

    /// A tensor of the host runtime, on the device unless `on_host`. `strides` may be null.
    diopiTensorHandle_t created(const std::vector<std::int64_t>& shape, const diopiSize_t* strides, std::int32_t dtype,
                                bool on_host) const;
    void copy_to(diopiTensorHandle_t storage, const char* from, std::uint64_t bytes) const;
    void copy_from(diopiConstTensorHandle_t storage, std::uint64_t bytes, Writer& answer) const;

  private:
    const Runtime& runtime_;
    diopiContextHandle_t context_ = nullptr;
    std::int32_t byte_dtype_;
    bool is_accelerator_ = false;
    Pages pages_;
    SecondThread second_thread_;
};

}  // namespace diopigen::executor
