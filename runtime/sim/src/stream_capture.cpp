#include "stream_capture.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "system.h"

namespace diopigen::sim {

namespace {

struct CapturedGraph {
    int device;
    std::shared_ptr<const std::vector<Task>> tasks;
};

std::atomic<uint64_t> captures{0};

std::string name_of(const Queue& queue) { return "stream " + std::to_string(queue.number()); }

Status failed(std::string text) { return {Code::invalidArgument, std::move(text)}; }

}  // namespace

StreamCapture::StreamCapture(std::shared_ptr<Queue> origin)
    : number_(++captures), origin_(std::move(origin)), streams_{origin_} {}

Status StreamCapture::begin(const std::shared_ptr<Queue>& origin) {
    if (const Status status = require_no_capture(*origin, "a second capture"); !status.ok()) {
        return status;
    }
    origin->set_capture(std::make_shared<StreamCapture>(origin));
    return {};
}

void StreamCapture::add(const Queue& queue, Task task) {
    order_.begin(queue.number(), "", {});
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
}

Status StreamCapture::join(const std::shared_ptr<Queue>& queue) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (has_ended_) {
        return failed(name_of(*queue) + " waits for an event of a capture that has ended");
    }
    if (queue->device() != origin()->device()) {
        return failed(name_of(*queue) + ", of another device, waits for an event of a capture");
    }
    streams_.push_back(queue);
    queue->set_capture(shared_from_this());
    return {};
}

Status StreamCapture::wait(const std::shared_ptr<Queue>& queue, StreamCapture* capture, const Clock& clock) {
    const std::shared_ptr<StreamCapture> own = queue->capture();
    if (own != nullptr && own.get() != capture) {
        return failed(name_of(*queue) + " is being captured, and waits for an event from outside of the capture");
    }
    if (own == nullptr) {
        if (const Status status = capture->join(queue); !status.ok()) {
            return status;
        }
    }
    capture->order_.stream_waits(queue->number(), clock);
    return {};
}

std::vector<Task> StreamCapture::end(Status* status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_ended_ = true;
    const Clock known = order_.snapshot(origin()->number());
    for (const std::shared_ptr<Queue>& queue : streams_) {
        queue->set_capture(nullptr);
        const auto position = static_cast<std::size_t>(queue->number());
        const uint64_t last = order_.snapshot(queue->number())[position];
        if (last > (position < known.size() ? known[position] : 0)) {
            *status = failed(name_of(*queue) + " has joined the capture of " + name_of(*origin()) +
                             ", which does not wait for the end of its work");
        }
    }
    return std::move(tasks_);
}

Status require_no_capture(const Queue& queue, const char* what) {
    return queue.is_capturing() ? failed(std::string(what) + ": " + name_of(queue) + " is being captured") : Status();
}

Status begin_capture(StreamHandle stream) {
    System* system = nullptr;
    std::shared_ptr<Queue> queue;
    const Status status = System::open(stream, &system, &queue);
    return status.ok() ? StreamCapture::begin(queue) : status;
}

Status capture_of(StreamHandle stream, uint64_t* capture) {
    const OpenStream open(stream);
    if (open.status().ok()) {
        const std::shared_ptr<StreamCapture> own = open.queue()->capture();
        *capture = own == nullptr ? 0 : own->number();
    }
    return open.status();
}

Status end_capture(StreamHandle stream, void** graph) {
    const OpenStream open(stream);
    if (!open.status().ok()) {
        return open.status();
    }
    const std::shared_ptr<StreamCapture> capture = open.queue()->capture();
    if (capture == nullptr || capture->origin() != open.queue()) {
        return failed("no capture began on " + name_of(*open.queue()));
    }
    Status status;
    auto tasks = std::make_shared<const std::vector<Task>>(capture->end(&status));
    if (status.ok()) {
        *graph = new CapturedGraph{open.queue()->device(), std::move(tasks)};
    }
    return status;
}

Status launch_captured(void* graph, StreamHandle stream) {
    const OpenStream open(stream);
    if (!open.status().ok()) {
        return open.status();
    }
    const auto* const own = static_cast<CapturedGraph*>(graph);
    if (own->device != open.queue()->device()) {
        return {Code::wrongDevice, "a graph of device " + std::to_string(own->device) + " on a stream of device " +
                                       std::to_string(open.queue()->device())};
    }
    if (own->tasks->empty()) {
        return {};
    }
    if (open.system()->settings().is_plain() && !open.queue()->is_capturing()) {
        open.queue()->push_all(own->tasks);
        return {};
    }
    for (const Task& task : *own->tasks) {
        if (const Status status = open.system()->push(open.queue(), task); !status.ok()) {
            return status;
        }
    }
    return {};
}

Status destroy_captured(void* graph) {
    delete static_cast<CapturedGraph*>(graph);
    return {};
}

}  // namespace diopigen::sim
