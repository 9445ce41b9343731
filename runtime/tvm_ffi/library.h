// A vendor's library, opened at run time: several can be open in one process.
#ifndef DIOPIGEN_TVM_FFI_LIBRARY_H_
#define DIOPIGEN_TVM_FFI_LIBRARY_H_

#include <diopi/diopirt.h>
#include <tvm/ffi/c_api.h>

#include <array>
#include <atomic>
#include <string>

#include "packed_functions.h"

namespace diopigen::ffi {

class Library {
  public:
    /// The library of a path, opened once for each path; it stays open until the process ends. `device_type` is what
    /// DLPack calls the memory of its device, 0 to ask: where the host can read the device's memory it is that of the
    /// host, else kDLExtDev. `initialise` calls initLibrary. The first that is opened serves functions that are called
    /// without a library of their own.
    static Library& open(const std::string& path, int32_t device_type, bool initialise);

    /// What a function was bound to, or the first library. Raises where none is open.
    static Library& of(void* self);

    /// The function of the interface, null where the library has none.
    void* find(Function function);

    /// Text of the library's latest failure.
    const char* last_error() const { return last_error_ == nullptr ? "" : last_error_(); }

    /// Where the operators see a tensor of a DLPack device. Raises a ValueError for memory that the library cannot
    /// access.
    diopiDevice_t device_of(DLDevice device) const;

    /// What DLPack calls the memory of the device.
    DLDeviceType device_type() const { return device_type_; }
    /// Libraries with memory that only they know share kDLExtDev, and differ in this.
    int32_t device_id() const { return device_id_; }
    /// Which device of the host runtime has the functions that the library registered.
    uint32_t number() const { return number_; }
    /// Whether the host cannot read the memory of the device, so that streams matter.
    bool is_apart() const { return device_type_ != kDLCPU; }
    /// Where tensors are allocated: on the device, where the library registered memory.
    diopiDevice_t memory() const { return has_memory_ ? diopi_device : diopi_host; }

  private:
    Library(void* handle, uint32_t number, int32_t device_type, bool initialise);
    bool host_reads_device();

    void* handle_;
    const char* (*last_error_)();
    bool has_memory_ = false;
    DLDeviceType device_type_ = kDLCPU;
    int32_t device_id_ = 0;
    const uint32_t number_;
    std::array<std::atomic<void*>, function_count> table_{};
};

/// Selects the device of a library in the host runtime, for as long as it lives.
class SelectedDevice {
  public:
    explicit SelectedDevice(uint32_t number);
    ~SelectedDevice();
    SelectedDevice(const SelectedDevice&) = delete;
    SelectedDevice& operator=(const SelectedDevice&) = delete;

  private:
    uint32_t previous_ = 0;
};

}  // namespace diopigen::ffi

#endif  // DIOPIGEN_TVM_FFI_LIBRARY_H_
