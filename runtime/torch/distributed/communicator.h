// A communicator of the vendor's library with the stream that its work is put on.
#ifndef DIOPIGEN_TORCH_DISTRIBUTED_COMMUNICATOR_H_
#define DIOPIGEN_TORCH_DISTRIBUTED_COMMUNICATOR_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>
#include <diopi/functions_collective.h>

#include <chrono>
#include <mutex>
#include <string>

namespace diopigen::distributed {

constexpr c10::DeviceType kDevice = c10::DeviceType::PrivateUse1;

/// Raises DistBackendError where the status is no success, with the library's text; `function` may be null where the
/// library does not have it.
void check(diopiError_t status, const char* function);
diopiDtype_t dtype_of(const at::Tensor& tensor);
/// The stream of the calling thread on a device.
c10::Stream current_stream(c10::Device device);
diopiStreamHandle_t handle_of(c10::Stream stream);

class Communicator {
  public:
    /// Raises DistBackendError where the library waits for other ranks of `id` for longer than `limit`. The device
    /// becomes the current one.
    Communicator(c10::Device device, int nranks, const diopiUniqueId_t& id, int rank, std::chrono::milliseconds limit);
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    c10::Device device() const { return device_; }
    /// Raises where it was destroyed.
    diopiComm_t handle() const;
    /// For collectives and sends; receives have another one, so that ranks that send to each other do not wait for
    /// ever.
    c10::Stream stream() const { return stream_; }
    c10::Stream receiving() const { return receiving_; }
    /// The text of its first failure; empty where there is none.
    std::string error() const;
    /// Destroys it: what is in flight fails. Any thread may, at any time.
    void abort();

  private:
    const c10::Device device_;
    const c10::Stream stream_;
    const c10::Stream receiving_;
    mutable std::mutex mutex_;
    diopiComm_t handle_ = nullptr;
    std::string error_;
};

}  // namespace diopigen::distributed

#endif  // DIOPIGEN_TORCH_DISTRIBUTED_COMMUNICATOR_H_
