// Device memory: one range of addresses without access, which opens while a kernel or a copy runs.
#include <cuda_runtime.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "emulation/launch.h"

namespace diopi::cuda::emulation {

namespace {

constexpr size_t kArena = size_t{64} << 30;  // addresses; pages come when they are touched
constexpr size_t kLimit = size_t{8} << 30;   // bytes that can be allocated
constexpr size_t kAlignment = 256;           // as cudaMalloc has it

class Memory {
  public:
    static Memory& instance() {
        static Memory memory;
        return memory;
    }

    void* allocate(size_t bytes) {
        const std::lock_guard lock(mutex_);
        const size_t size = (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
        if (base_ == nullptr || used_ + size > kLimit) {
            return nullptr;
        }
        // The first gap that is large enough.
        size_t start = 0;
        for (const auto& [offset, length] : blocks_) {
            if (offset - start >= size) {
                break;
            }
            start = offset + length;
        }
        if (start + size > kArena) {
            return nullptr;
        }
        blocks_[start] = size;
        used_ += size;
        if (start + size > reach_) {
            reach_ = (start + size + kPage - 1) / kPage * kPage;
            protect();
        }
        return base_ + start;
    }

    bool release(const void* data) {
        const std::lock_guard lock(mutex_);
        const auto found = blocks_.find(static_cast<size_t>(static_cast<const char*>(data) - base_));
        if (found == blocks_.end()) {
            return false;
        }
        used_ -= found->second;
        if (found->second >= kLarge) {
            madvise(base_ + found->first / kPage * kPage, found->second / kPage * kPage, MADV_DONTNEED);
        }
        blocks_.erase(found);
        return true;
    }

    // Whether `bytes` at `data` lie in one allocation.
    bool holds(const void* data, size_t bytes) {
        const std::lock_guard lock(mutex_);
        const auto offset = static_cast<size_t>(static_cast<const char*>(data) - base_);
        auto found = blocks_.upper_bound(offset);
        if (found == blocks_.begin()) {
            return false;
        }
        --found;
        return offset + bytes <= found->first + found->second;
    }

    void open() {
        const std::lock_guard lock(mutex_);
        if (open_++ == 0) {
            protect();
        }
    }

    void close() {
        const std::lock_guard lock(mutex_);
        if (--open_ == 0) {
            protect();
        }
    }

  private:
    static constexpr size_t kPage = 4096;
    static constexpr size_t kLarge = size_t{1} << 22;

    Memory() {
        void* const range = mmap(nullptr, kArena, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        base_ = range == MAP_FAILED ? nullptr : static_cast<char*>(range);
    }

    void protect() {
        if (reach_ > 0) {
            mprotect(base_, reach_, open_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
        }
    }

    std::mutex mutex_;
    char* base_ = nullptr;
    std::map<size_t, size_t> blocks_;  // length by offset
    size_t used_ = 0;
    size_t reach_ = 0;  // the highest address that was ever handed out
    int open_ = 0;
};

}  // namespace

Access::Access() { Memory::instance().open(); }
Access::~Access() { Memory::instance().close(); }

}  // namespace diopi::cuda::emulation

using diopi::cuda::emulation::Access;
using diopi::cuda::emulation::Memory;

struct CUstream_st {
    std::deque<std::function<void()>> queue;

    void finish() {
        while (!queue.empty()) {
            const std::function<void()> work = std::move(queue.front());
            queue.pop_front();
            work();
        }
    }
};

void diopi::cuda::emulation::submit(cudaStream_t stream, std::function<void()> work) {
    static const bool is_lazy = [] {
        const char* mode = std::getenv("DIOPI_CUDA_EMULATION_STREAMS");
        return mode != nullptr && std::strcmp(mode, "lazy") == 0;
    }();
    if (is_lazy && stream != nullptr) {
        stream->queue.push_back(std::move(work));
    } else {
        work();
    }
}

using diopi::cuda::emulation::submit;

namespace {
thread_local cudaError_t latest = cudaSuccess;
cudaError_t answer(cudaError_t status) {
    latest = status == cudaSuccess ? latest : status;
    return status;
}
}  // namespace

cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    *stream = new CUstream_st;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    cudaStreamSynchronize(stream);
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (stream != nullptr) {
        stream->finish();
    }
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** data, size_t bytes, cudaStream_t) {
    *data = Memory::instance().allocate(bytes);
    return answer(*data != nullptr ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
    if (data != nullptr && !Memory::instance().holds(data, 1)) {
        return answer(cudaErrorInvalidValue);
    }
    submit(stream, [data] { Memory::instance().release(data); });
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    Memory& memory = Memory::instance();
    const bool to_device = kind != cudaMemcpyDeviceToHost;
    const bool from_device = kind != cudaMemcpyHostToDevice;
    if ((to_device && !memory.holds(to, bytes)) || (from_device && !memory.holds(from, bytes))) {
        return answer(cudaErrorInvalidValue);
    }
    const auto copy = [to, bytes](const void* source) {
        const Access access;
        std::memmove(to, source, bytes);
    };
    if (kind == cudaMemcpyDeviceToHost) {
        // To pageable memory: the call waits.
        cudaStreamSynchronize(stream);
        copy(from);
    } else if (kind == cudaMemcpyHostToDevice) {
        // From pageable memory: the host may change it as soon as the call returns.
        const auto* bytes_of = static_cast<const char*>(from);
        submit(stream, [copy, kept = std::vector<char>(bytes_of, bytes_of + bytes)] { copy(kept.data()); });
    } else {
        submit(stream, [copy, from] { copy(from); });
    }
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
    if (!Memory::instance().holds(data, bytes)) {
        return answer(cudaErrorInvalidValue);
    }
    submit(stream, [data, value, bytes] {
        const Access access;
        std::memset(data, value, bytes);
    });
    return cudaSuccess;
}

cudaError_t cudaGetLastError() {
    const cudaError_t status = latest;
    latest = cudaSuccess;
    return status;
}

const char* cudaGetErrorName(cudaError_t status) {
    switch (status) {
        case cudaSuccess:
            return "cudaSuccess";
        case cudaErrorMemoryAllocation:
            return "cudaErrorMemoryAllocation";
        case cudaErrorInvalidResourceHandle:
            return "cudaErrorInvalidResourceHandle";
        default:
            return "cudaErrorInvalidValue";
    }
}

const char* cudaGetErrorString(cudaError_t status) {
    switch (status) {
        case cudaSuccess:
            return "no error";
        case cudaErrorMemoryAllocation:
            return "out of memory";
        case cudaErrorInvalidResourceHandle:
            return "invalid resource handle";
        default:
            return "invalid argument";
    }
}
