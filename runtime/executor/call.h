// One call: tensors, generators and arguments from a frame, and what came of it as another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "frames.h"
#include "libraries.h"
#include "pages.h"
#include "second_thread.h"

namespace diopigen::executor {

inline constexpr std::uint32_t kElsewhere = 1U << 31;  // of the number of a function: another thread calls it

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

  private:
    const Runtime& runtime_;
    diopiContextHandle_t context_ = nullptr;
    std::int32_t byte_dtype_;
    bool is_accelerator_ = false;
    Pages pages_;
    SecondThread second_thread_;
};

/// Copy `n` of a call has the bytes [start, start + bytes) of a storage rotated to the left by n * step.
struct Rotation {
    std::uint32_t storage = 0;
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
    std::uint64_t step = 0;
};

struct Storage {
    diopiTensorHandle_t base = nullptr;
    std::uint64_t bytes = 0;
    bool on_host = false;
    char* pages = nullptr;  // of this process, where the call is no copy; null on a device
};

void destroy(const Runtime& runtime, const std::vector<Storage>& storages);

/// A call whose tensors and arguments are there; freed with it.
class ReadyCall {
  public:
    ReadyCall() = default;
    virtual ~ReadyCall() = default;
    ReadyCall(const ReadyCall&) = delete;
    ReadyCall& operator=(const ReadyCall&) = delete;

    virtual std::int32_t make(void* function) = 0;
    virtual Writer answer(std::int32_t status, std::int32_t late, double seconds) = 0;
    /// Frees all but the storages, which the caller gets.
    virtual std::vector<Storage> release() = 0;
};

/// Copy `number` of the call of a frame, whose first field, the number of the function, has been read. `rotations` must
/// outlive it. It takes over the storages of an earlier copy, and uses those of the right size: at the same addresses
/// are then other data.
std::unique_ptr<ReadyCall> read_call(Device& device, const Library& library, Reader& frame, std::uint64_t number,
                                     const std::vector<Rotation>& rotations, std::vector<Storage> earlier);

/// Makes the call of a frame, whose first field has been read: the function, and whether another thread calls it. The
/// answer is valid while it is sent.
void make_call(Device& device, const Library& library, void* function, bool is_elsewhere, Reader& frame,
               const std::function<void(const Writer&)>& send);

}  // namespace diopigen::executor
