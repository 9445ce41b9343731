// Streams, events, and what is queued on them. Work of all streams is done by one thread at a time: by the one that
// queues it or, where streams are lazy, by the one that waits.
#include <diopigen/environment.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "devices.h"
#include "emulation/launch.h"

namespace diopigen::cuda::emulation {

namespace {

std::recursive_mutex& work_mutex() {
    static std::recursive_mutex mutex;
    return mutex;
}

bool is_lazy() {
    static const bool lazy = diopigen::environment::checked("DIOPI_CUDA_EMULATION_STREAMS") == "lazy";
    return lazy;
}

// The work of a stream. Events outlive their streams.
struct Queue {
    int device;
    std::deque<std::function<void()>> work;
    uint64_t queued = 0;
    uint64_t done = 0;

    void put(std::function<void()> next) {
        work.push_back(std::move(next));
        ++queued;
        if (!is_lazy()) {
            finish(queued);
        }
    }
    // Does the work up to the one with this number.
    void finish(uint64_t number) {
        while (done < number && !work.empty()) {
            const std::function<void()> next = std::move(work.front());
            work.pop_front();
            work_for(device, next);
            ++done;
        }
    }
};

// All queues of streams that are there.
std::vector<std::weak_ptr<Queue>>& queues() {
    static std::vector<std::weak_ptr<Queue>> all;
    return all;
}

}  // namespace

}  // namespace diopigen::cuda::emulation

using diopigen::cuda::emulation::Access;
using diopigen::cuda::emulation::answer;
using diopigen::cuda::emulation::current_device;
using diopigen::cuda::emulation::Memory;
using diopigen::cuda::emulation::Queue;
using diopigen::cuda::emulation::submit;
using diopigen::cuda::emulation::work_mutex;

struct CUstream_st {
    std::shared_ptr<Queue> queue;
};

// A position in a queue.
struct Recorded {
    std::shared_ptr<Queue> queue;
    uint64_t number;
    std::chrono::steady_clock::time_point time;

    bool is_done() const { return queue == nullptr || queue->done >= number; }
    void finish() const {
        if (queue != nullptr) {
            queue->finish(number);
        }
    }
};

struct CUevent_st {
    int device;
    std::shared_ptr<Recorded> recorded;
};

cudaError_t diopigen::cuda::emulation::submit(cudaStream_t stream, std::function<void()> work) {
    const std::lock_guard lock(work_mutex());
    if (stream == nullptr) {
        work_for(current_device(), work);
        return cudaSuccess;
    }
    if (stream->queue->device != current_device()) {
        return answer(cudaErrorInvalidResourceHandle);
    }
    stream->queue->put(std::move(work));
    return cudaSuccess;
}

namespace {

// Copies and waits may be on a stream of another device than the thread's.
void put(cudaStream_t stream, std::function<void()> work) {
    const std::lock_guard lock(work_mutex());
    if (stream == nullptr) {
        diopigen::cuda::emulation::work_for(current_device(), work);
    } else {
        stream->queue->put(std::move(work));
    }
}

bool holds(const void* data, size_t bytes) {
    const int owner = Memory::owner(data);
    return owner >= 0 && Memory::of(owner).holds(data, bytes);
}

// Where `to` or `from` is on the host, nothing is opened for it.
void move(void* to, const void* from, size_t bytes) {
    std::vector<std::unique_ptr<Access>> opened;
    for (const void* data : {static_cast<const void*>(to), from}) {
        const int owner = Memory::owner(data);
        if (owner >= 0) {
            opened.push_back(std::make_unique<Access>(owner));
        }
    }
    std::memmove(to, from, bytes);
}

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    const std::lock_guard lock(work_mutex());
    auto queue = std::make_shared<Queue>();
    queue->device = current_device();
    diopigen::cuda::emulation::queues().push_back(queue);
    *stream = new CUstream_st{std::move(queue)};
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    cudaStreamSynchronize(stream);
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    const std::lock_guard lock(work_mutex());
    if (stream != nullptr) {
        stream->queue->finish(stream->queue->queued);
    }
    Memory::of(stream != nullptr ? stream->queue->device : current_device()).trim();
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
    const std::lock_guard lock(work_mutex());
    for (const std::weak_ptr<Queue>& entry : diopigen::cuda::emulation::queues()) {
        const std::shared_ptr<Queue> queue = entry.lock();
        if (queue != nullptr && queue->device == current_device()) {
            queue->finish(queue->queued);
        }
    }
    Memory::of(current_device()).trim();
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    *event = new CUevent_st{current_device(), nullptr};
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const std::lock_guard lock(work_mutex());
    if (event->device != (stream != nullptr ? stream->queue->device : current_device())) {
        return answer(cudaErrorInvalidResourceHandle);
    }
    auto recorded = std::make_shared<Recorded>();
    recorded->queue = stream != nullptr ? stream->queue : nullptr;
    recorded->number = stream != nullptr ? stream->queue->queued + 1 : 0;
    event->recorded = recorded;
    put(stream, [recorded] { recorded->time = std::chrono::steady_clock::now(); });
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    const std::lock_guard lock(work_mutex());
    if (event->recorded != nullptr) {
        put(stream, [recorded = event->recorded] { recorded->finish(); });
    }
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    const std::lock_guard lock(work_mutex());
    if (event->recorded != nullptr) {
        event->recorded->finish();
    }
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    const std::lock_guard lock(work_mutex());
    if (event->recorded == nullptr || event->recorded->is_done()) {
        return cudaSuccess;
    }
    // Who asks again and again sees the stream go on.
    event->recorded->queue->finish(event->recorded->queue->done + 1);
    return answer(cudaErrorNotReady);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    const std::lock_guard lock(work_mutex());
    if (start->recorded == nullptr || end->recorded == nullptr || start->device != end->device) {
        return answer(cudaErrorInvalidResourceHandle);
    }
    if (!start->recorded->is_done() || !end->recorded->is_done()) {
        return answer(cudaErrorNotReady);
    }
    *milliseconds = std::chrono::duration<float, std::milli>(end->recorded->time - start->recorded->time).count();
    return cudaSuccess;
}

// Kernels reach all memory of the host here. On a GPU this is what they reach of it.
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
    *data = std::calloc(bytes, 1);
    return answer(*data != nullptr ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaMallocAsync(void** data, size_t bytes, cudaStream_t stream) {
    *data = Memory::of(stream != nullptr ? stream->queue->device : current_device()).allocate(bytes);
    return answer(*data != nullptr ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
    const int owner = Memory::owner(data);
    if (data != nullptr && (owner < 0 || !Memory::of(owner).holds(data, 1))) {
        return answer(cudaErrorInvalidValue);
    }
    // Memory goes back to the pool that it came from.
    if (data != nullptr && owner != (stream != nullptr ? stream->queue->device : current_device())) {
        return answer(cudaErrorInvalidValue);
    }
    if (data != nullptr) {
        put(stream, [data, owner] { Memory::of(owner).release(data); });
    }
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    const bool to_device = kind != cudaMemcpyDeviceToHost;
    const bool from_device = kind != cudaMemcpyHostToDevice;
    if ((to_device && !holds(to, bytes)) || (from_device && !holds(from, bytes)) ||
        (to_device && from_device && Memory::owner(to) != Memory::owner(from))) {
        return answer(cudaErrorInvalidValue);
    }
    if (kind == cudaMemcpyDeviceToHost) {
        // To pageable memory: the call waits.
        const std::lock_guard lock(work_mutex());
        if (stream != nullptr) {
            stream->queue->finish(stream->queue->queued);
        }
        move(to, from, bytes);
    } else if (kind == cudaMemcpyHostToDevice) {
        // From pageable memory: the host may change it as soon as the call returns.
        const auto* bytes_of = static_cast<const char*>(from);
        put(stream,
            [to, saved = std::vector<char>(bytes_of, bytes_of + bytes)] { move(to, saved.data(), saved.size()); });
    } else {
        put(stream, [=] { move(to, from, bytes); });
    }
    return cudaSuccess;
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
    if (!holds(to, bytes) || !holds(from, bytes) || Memory::owner(to) != to_device ||
        Memory::owner(from) != from_device) {
        return answer(cudaErrorInvalidValue);
    }
    put(stream, [=] { move(to, from, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
    if (!holds(data, bytes)) {
        return answer(cudaErrorInvalidValue);
    }
    return submit(stream, [data, value, bytes] {
        const Access access;
        std::memset(data, value, bytes);
    });
}
