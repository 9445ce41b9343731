#include <diopigen_sim/stream.h>

#include <cstring>
#include <functional>
#include <utility>

#include "arena.h"
#include "stream_capture.h"
#include "system.h"

namespace diopigen::sim {
namespace {

/// Host memory of a copy: not null, and not on a device.
template <typename What>
Status require_host(const void* host, const What& what) {
    if (host == nullptr) {
        return {Code::invalidArgument, what() + " is null"};
    }
    const int device = location_of(reinterpret_cast<uintptr_t>(host)).device;
    if (device >= 0) {
        return {Code::invalidPointer, what() + " is memory of device " + std::to_string(device)};
    }
    return {};
}

/// One side of a copy. The device's side is checked, the host's taken as it is.
struct Side {
    const void* pointer;
    const char* what;
    bool on_device;
};

Status copy(StreamHandle stream, const char* name, const Side& to, const Side& from, uint64_t bytes) {
    const OpenStream open(stream);
    if (!open.status().ok() || bytes == 0) {
        return open.status();
    }
    System* const system = open.system();
    Queue* const queue = open.queue();
    Range destination;
    Range source;
    const auto check = [&](const Side& side, bool write, Range* range) {
        const auto what = [&] { return std::string(name) + ": " + side.what; };
        if (side.on_device) {
            return system->resolve(queue->device(), side.pointer, bytes, write, range, what);
        }
        range->address = const_cast<void*>(side.pointer);
        return require_host(side.pointer, what);
    };
    if (const Status status = check(from, false, &source); !status.ok()) {
        return status;
    }
    if (const Status status = check(to, true, &destination); !status.ok()) {
        return status;
    }
    auto run = [to = destination.address, from = source.address, bytes] { std::memmove(to, from, bytes); };
    if (bytes <= kSmall && system->runAtOnce(queue, name, bytes, Work(run))) {
        return {};
    }
    return system->push(queue, {source, destination}, {name, bytes, std::move(run)});
}

}  // namespace

Status createStream(int device, StreamHandle* stream) {
    if (stream == nullptr) {
        return {Code::invalidArgument, "create stream: the place for the stream is null"};
    }
    System* system = nullptr;
    const Status status = System::get(&system);
    return status.ok() ? system->createStream(device, stream) : status;
}

Status destroyStream(StreamHandle stream) {
    System* system = nullptr;
    std::shared_ptr<Queue> queue;
    Status status = System::get(&system);
    if (status.ok()) {
        status = system->take_stream(stream, &queue);
    }
    if (!status.ok()) {
        return status;
    }
    system->wait(queue.get());
    return queue->take_failure();
}

Status synchronize(StreamHandle stream) {
    if (OpenStream::is_readable(stream)) {
        return {};
    }
    const OpenStream open(stream);
    if (!open.status().ok()) {
        return open.status();
    }
    if (const Status status = require_no_capture(*open.queue(), "a wait of the host"); !status.ok()) {
        return status;
    }
    open.system()->wait(open.queue());
    return open.queue()->take_failure();
}

Status streamNumber(StreamHandle stream, int* number) {
    const OpenStream open(stream);
    if (open.status().ok()) {
        *number = open.queue()->number();
    }
    return open.status();
}

Status copyToDevice(StreamHandle stream, void* device, const void* host, uint64_t bytes) {
    return copy(stream, "copy to device", {device, "the destination", true}, {host, "the source", false}, bytes);
}

Status copyToHost(StreamHandle stream, void* host, const void* device, uint64_t bytes) {
    if (bytes <= kSmall && host != nullptr && OpenStream::read(stream, host, device, bytes)) {
        return {};
    }
    return copy(stream, "copy to host", {host, "the destination", false}, {device, "the source", true}, bytes);
}

Status copyOnDevice(StreamHandle stream, void* destination, const void* source, uint64_t bytes) {
    return copy(stream, "copy on device", {destination, "the destination", true}, {source, "the source", true}, bytes);
}

}  // namespace diopigen::sim
