// The vendor's device as PyTorch sees it: devices, streams and events over the functions that the vendor registered.
#ifndef DIOPIGEN_TORCH_DEVICE_H_
#define DIOPIGEN_TORCH_DEVICE_H_

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/macros/Macros.h>
#include <c10/util/StringUtil.h>
#include <diopi/diopirt.h>

#include <array>
#include <cstdint>
#include <string>

namespace diopigen::backend {

/// More devices than that are not looked at.
inline constexpr int kMostDevices = 16;

inline constexpr c10::DeviceType kDeviceType = c10::DeviceType::PrivateUse1;

/// Starts the vendor's library: its initLibrary(), once. Everything below does so by itself. Throws what it says.
void initialize();
/// Returns whether initialize() has run.
bool is_initialized() noexcept;
/// Returns whether this process is the child of one that had started the device: nothing of the device can be used in
/// it, and every use throws.
bool is_forked() noexcept;
/// Waits for all streams, gives cached memory back and ends the vendor's library. Nothing may be used afterwards. The
/// status of finalizeLibrary(), which is not 0 where memory is left.
int32_t finalize();

/// 0 where the vendor's library does not start.
c10::DeviceIndex device_count() noexcept;
/// The stream that a thread uses on a device.
struct ThreadStream {
    c10::StreamId id = 0;
    diopiStreamHandle_t handle = nullptr;
    bool is_known = false;
};
/// Do not use: current_device(), current_stream() and current_handle() read it.
struct ThreadState {
    c10::DeviceIndex device = 0;
    std::array<ThreadStream, kMostDevices> streams{};
};
extern constinit thread_local ThreadState thread_state;
/// The device of the calling thread.
inline c10::DeviceIndex current_device() noexcept { return thread_state.device; }
/// Throws for a device that there is not.
void set_current_device(c10::DeviceIndex device);

/// Puts back a device that the calling thread had: where the vendor's function fails, the other one stays.
void restore_device(c10::DeviceIndex device) noexcept;

/// Makes a device that of the calling thread for a scope. Throws as set_current_device() does.
class WithDevice {
  public:
    explicit WithDevice(c10::DeviceIndex device) {
        if (const c10::DeviceIndex before = current_device(); C10_UNLIKELY(device != before)) {
            set_current_device(device);
            before_ = before;
        }
    }
    ~WithDevice() {
        if (C10_UNLIKELY(before_ != kSame)) {
            restore_device(before_);
        }
    }
    WithDevice(const WithDevice&) = delete;
    WithDevice& operator=(const WithDevice&) = delete;

  private:
    static constexpr c10::DeviceIndex kSame = -1;
    c10::DeviceIndex before_ = kSame;
};

[[noreturn]] void device_fails(int32_t code, const std::string& action);
/// Throws for a status of the vendor's device functions that is not 0: "the device fails to", the action in words, and
/// the library's own text.
template <typename... Words>
void require_done(int32_t code, const Words&... action) {
    if (C10_UNLIKELY(code != 0)) {
        device_fails(code, c10::str(action...));
    }
}

/// Bytes of a device, free and in all; zeros where the vendor does not tell.
struct MemoryInfo {
    uint64_t free = 0;
    uint64_t total = 0;
};
MemoryInfo memory_info(c10::DeviceIndex device);

c10::Stream default_stream(c10::DeviceIndex device);
/// One of a device's 32 other streams, in turn.
c10::Stream new_stream(c10::DeviceIndex device);
/// The stream that the calling thread uses on a device.
c10::Stream current_stream(c10::DeviceIndex device);
/// Sets it, and returns the one before.
c10::Stream exchange_stream(c10::Stream stream);
/// The vendor's handle of a stream.
diopiStreamHandle_t handle_of(c10::Stream stream);
/// The handle of the calling thread's stream on a device; cheap.
diopiStreamHandle_t current_handle(c10::DeviceIndex device);
void synchronize(c10::Stream stream);
/// The same for the vendor's handle of a stream.
void wait_for(diopiStreamHandle_t stream);
/// Waits for all streams of a device.
void synchronize_device(c10::DeviceIndex device);
/// Waits for the streams of all devices but those that are being captured, for destructors: failures are left to
/// others.
void finish_work() noexcept;

/// A point in the work of a stream. Where the vendor has no events, recording waits for the stream.
class Event {
  public:
    Event() = default;
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event();
    void record(c10::Stream stream);
    void block(c10::Stream stream) const;
    bool query() const;
    void synchronize() const;
    double elapsed_milliseconds(const Event& end) const;

  private:
    void* event_ = nullptr;
};

/// Copies on a stream: the host's memory must stay as it is until the stream has been synchronised.
void copy_to_device(diopiStreamHandle_t stream, void* device, const void* host, uint64_t bytes);
void copy_to_host(diopiStreamHandle_t stream, void* host, const void* device, uint64_t bytes);
void copy_on_device(diopiStreamHandle_t stream, void* destination, const void* source, uint64_t bytes);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_DEVICE_H_
