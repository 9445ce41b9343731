#include "memory.h"

#include <diopigen/host.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "failure.h"

namespace diopigen::ffi {
namespace {

struct Block {
    std::shared_ptr<LibrarySession> session;
    diopiTensorHandle_t tensor;
};

std::mutex mutex;

/// Never destroyed: pools of TVM free memory when the process ends.
std::unordered_map<void*, Block>& blocks() {
    static auto* live = new std::unordered_map<void*, Block>;
    return *live;
}

/// A handle over a range for the time of a copy.
class Wrapper {
  public:
    Wrapper(LibrarySession& session, void* start, int64_t bytes) {
        const diopiSize_t size{&bytes, 1};
        require(diopiHostWrapMemory(session.context(), &tensor_, start, static_cast<uint64_t>(bytes), &size, nullptr, 0,
                                    diopi_dtype_uint8, session.library().memory()),
                "a range cannot be copied");
    }
    ~Wrapper() { diopiHostDestroyTensor(tensor_); }
    Wrapper(const Wrapper&) = delete;
    Wrapper& operator=(const Wrapper&) = delete;
    operator diopiTensorHandle_t() const { return tensor_; }

  private:
    diopiTensorHandle_t tensor_ = nullptr;
};

}  // namespace

void* allocate(LibrarySession& session, int64_t bytes) {
    if (bytes < 0) {
        throw Failure{"ValueError", "the number of bytes is negative"};
    }
    const int64_t at_least = std::max<int64_t>(bytes, 1);
    const diopiSize_t size{&at_least, 1};
    diopiTensorHandle_t tensor = nullptr;
    require(diopiHostCreateTensor(session.context(), &tensor, &size, nullptr, 0, diopi_dtype_uint8,
                                  session.library().memory()),
            "no memory");
    void* memory = nullptr;
    require(diopiGetTensorData(tensor, &memory), "no memory");
    const std::lock_guard<std::mutex> lock(mutex);
    blocks()[memory] = {session.shared_from_this(), tensor};
    return memory;
}

void release(void* memory) {
    Block block;
    {
        const std::lock_guard<std::mutex> lock(mutex);
        const auto found = blocks().find(memory);
        if (found == blocks().end()) {
            throw Failure{"ValueError", "the memory was not allocated here, or is freed already"};
        }
        block = found->second;
        blocks().erase(found);
    }
    block.session->discard(block.tensor);
}

void copy(LibrarySession& session, Range to, Range from, int64_t bytes) {
    if (bytes <= 0) {
        return;
    }
    const auto size = static_cast<uint64_t>(bytes);
    const diopiContextHandle_t context = session.context();
    if (to.on_device && from.on_device) {
        const Wrapper target(session, to.start, bytes);
        const Wrapper source(session, from.start, bytes);
        require(diopiHostCopyStorage(context, target, source), "the copy failed");
    } else if (to.on_device) {
        const Wrapper target(session, to.start, bytes);
        require(diopiHostCopyToStorage(context, target, from.start, size), "the copy failed");
    } else {
        const Wrapper source(session, from.start, bytes);
        require(diopiHostCopyFromStorage(context, source, to.start, size), "the copy failed");
    }
}

}  // namespace diopigen::ffi
