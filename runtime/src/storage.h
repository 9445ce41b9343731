// The memory behind tensors, shared by all tensors that view it.
#ifndef DIOPIGEN_RUNTIME_STORAGE_H_
#define DIOPIGEN_RUNTIME_STORAGE_H_

#include <diopi/diopirt.h>

#include <cstdint>
#include <memory>

#include "stream.h"

namespace diopigen {

/// Memory on the host or the device. The destructor frees it at once: the owner of the last reference has called
/// prepare_to_free() before.
class Storage {
  public:
    /// `bytes` bytes of uninitialised memory; none at all, and null data, for 0. Device memory is ordered by `stream`.
    static std::shared_ptr<Storage> allocate(int64_t bytes, diopiDevice_t device, std::weak_ptr<Stream> stream);

    /// Memory of the caller, which is not freed.
    static std::shared_ptr<Storage> borrow(void* data, int64_t bytes, diopiDevice_t device,
                                           std::weak_ptr<Stream> stream);

    Storage(diopiDevice_t device, std::weak_ptr<Stream> stream);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    void* data() const { return data_; }
    int64_t bytes() const { return bytes_; }
    diopiDevice_t device() const { return device_; }
    /// Whether the memory was allocated here.
    bool is_owned() const { return owned_; }

    /// Other memory of the caller, for a storage that is not owned.
    void set_borrowed(void* data, int64_t bytes) {
        data_ = data;
        bytes_ = bytes;
    }

    /// Throws where a function that freeing the memory needs is not registered.
    void require_free_function() const;

    /// Waits until no work on the context's stream can use the memory any more; throws, with nothing done, when a
    /// device function is missing. A context that has ended has synchronised its stream then.
    void prepare_to_free() const;

  private:
    void* data_ = nullptr;
    int64_t bytes_ = 0;
    diopiDevice_t device_;
    bool owned_ = false;
    std::weak_ptr<Stream> stream_;
    // Those of the stream: the memory may outlive it.
    const DeviceFunctions* functions_;
};

/// Throws unless `device` is diopi_host or diopi_device.
void require_device(diopiDevice_t device);

/// Bytes that all storages hold on `device`, borrowed memory not counted.
uint64_t live_bytes(diopiDevice_t device);

}  // namespace diopigen

#endif  // DIOPIGEN_RUNTIME_STORAGE_H_
