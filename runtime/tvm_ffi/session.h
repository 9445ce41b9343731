// What a thread keeps between calls of one library on one stream: a context, and handles over memory of others.
#ifndef DIOPIGEN_TVM_FFI_SESSION_H_
#define DIOPIGEN_TVM_FFI_SESSION_H_

#include <diopi/diopirt.h>
#include <tvm/ffi/c_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "library.h"

namespace diopigen::ffi {

/// A handle over the memory of a DLPack tensor. It says no more than pointer, dtype, shape and strides, so that a
/// later tensor with the same of these is the same to operators, and takes the handle that is there. One that differs
/// in the pointer alone takes it too: the handle is put over the other memory.
struct Wrapped {
    static constexpr int32_t kMostDimensions = 6;

    diopiTensorHandle_t handle = nullptr;
    const void* data = nullptr;
    DLDataType dtype{};
    int32_t rank = 0;
    diopiDevice_t device = diopi_host;
    bool in_use = false;
    bool has_strides = false;
    std::array<int64_t, 2 * kMostDimensions> dimensions{};

    void describe(diopiTensorHandle_t of, const void* first, const DLTensor& tensor, diopiDevice_t on);
};

class LibrarySession : public std::enable_shared_from_this<LibrarySession> {
  public:
    /// The session of the calling thread for a library, on the stream that is current in tvm-ffi.
    static LibrarySession& current(Library& library);

    LibrarySession(Library& library, void* stream);
    ~LibrarySession();
    LibrarySession(const LibrarySession&) = delete;
    LibrarySession& operator=(const LibrarySession&) = delete;

    diopiContextHandle_t context() const { return context_; }
    Library& library() const { return library_; }
    void* stream() const { return stream_; }

    /// The cached handle of a tensor; null where it has too many dimensions, or too many of its layout are in use by
    /// the same call.
    Wrapped* cached(const DLTensor& tensor);
    /// A handle that the caller destroys.
    diopiTensorHandle_t wrap(const DLTensor& tensor);

    /// Destroys a tensor of this session, from any thread.
    void discard(diopiTensorHandle_t tensor);
    /// Destroys what other threads have discarded.
    void clear_discarded();
    /// Ends the context. Tensors that were handed out stay valid.
    void close();

  private:
    /// Handles of some layouts. It has more than `kFew` only where a single call uses more.
    struct Group {
        static constexpr size_t kFew = 8;
        static constexpr size_t kMost = 256;
        std::vector<std::unique_ptr<Wrapped>> entries;
        /// Behind the entry that was used last: a call with the same tensors uses them in the same order.
        size_t next = 0;
    };
    static constexpr size_t kGroups = 64;

    /// The entry that a tensor without one takes; null where all are in use and there are enough.
    Wrapped* replaced(Group& group, const DLTensor& tensor, diopiDevice_t device);

    Library& library_;
    void* stream_;
    diopiContextHandle_t context_ = nullptr;
    std::array<Group, kGroups> cache_;
    const std::thread::id owner_ = std::this_thread::get_id();
    std::mutex mutex_;
    bool open_ = true;
    std::vector<diopiTensorHandle_t> discarded_;
    std::atomic<bool> has_discarded_{false};
};

/// Raises a RuntimeError with the runtime's text where a function of the host runtime fails.
void require(diopiError_t status, const char* what);

}  // namespace diopigen::ffi

#endif  // DIOPIGEN_TVM_FFI_SESSION_H_
