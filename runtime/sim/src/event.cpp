#include <diopigen_sim/stream.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "stream_capture.h"
#include "system.h"
#include "trace_log.h"

namespace diopigen::sim {

/// One recording of an event. Those who wait hold on to it, so that the event may be recorded anew or destroyed.
struct Recording {
    std::mutex mutex;
    std::condition_variable passed;
    bool done = false;
    double time = 0;
    Clock clock;
    std::shared_ptr<StreamCapture> capture = nullptr;  ///< in which it was recorded; the host cannot wait for it
    std::string failure;  ///< of the stream in front of the event: what waits for it is built on that

    void pass(std::string text) {
        {
            const std::lock_guard<std::mutex> lock(mutex);
            done = true;
            failure = std::move(text);
            time = seconds_now();
        }
        passed.notify_all();
    }

    void wait() {
        std::unique_lock<std::mutex> lock(mutex);
        passed.wait(lock, [this] { return done; });
    }

    bool is_done() {
        const std::lock_guard<std::mutex> lock(mutex);
        return done;
    }

    bool has_passed_well() {
        const std::lock_guard<std::mutex> lock(mutex);
        return done && failure.empty();
    }
};

namespace {

Status require_event(EventHandle event, System** system) {
    if (event == nullptr) {
        return {Code::invalidArgument, "the event is null"};
    }
    return System::get(system);
}

Status require_event(EventHandle event, StreamHandle stream, System** system, std::shared_ptr<Queue>* queue) {
    const Status status = require_event(event, system);
    return status.ok() ? (*system)->stream(stream, queue) : status;
}

Status in_capture(const char* what) {
    return {Code::invalidArgument, std::string(what) + ", which was recorded in a capture"};
}

}  // namespace

struct Event {
    std::mutex mutex;
    std::shared_ptr<Recording> recording;

    std::shared_ptr<Recording> latest() {
        const std::lock_guard<std::mutex> lock(mutex);
        return recording;
    }
};

Status createEvent(EventHandle* event) {
    if (event == nullptr) {
        return {Code::invalidArgument, "create event: the place for the event is null"};
    }
    *event = new Event;
    return {};
}

Status destroyEvent(EventHandle event) {
    System* system = nullptr;
    const Status status = require_event(event, &system);
    if (status.ok()) {
        delete event;
    }
    return status;
}

Status recordEvent(EventHandle event, StreamHandle stream) {
    System* system = nullptr;
    std::shared_ptr<Queue> queue;
    if (const Status status = require_event(event, stream, &system, &queue); !status.ok()) {
        return status;
    }
    const auto created = std::make_shared<Recording>();
    created->capture = queue->capture();
    OrderCheck& order = created->capture == nullptr ? system->order() : created->capture->order();
    created->clock = order.snapshot(queue->number());
    {
        const std::lock_guard<std::mutex> lock(event->mutex);
        event->recording = created;
    }
    if (created->capture != nullptr) {
        return {};
    }
    // An idle stream is there already, and its thread may sleep on.
    if (std::string failure; queue->is_idle(&failure)) {
        created->pass(std::move(failure));
        return {};
    }
    // The queue outlives its work.
    queue->push({"", 0, [created, own = queue.get()] { created->pass(own->failure_text()); }});
    return {};
}

Status waitEvent(StreamHandle stream, EventHandle event) {
    System* system = nullptr;
    std::shared_ptr<Queue> queue;
    if (const Status status = require_event(event, stream, &system, &queue); !status.ok()) {
        return status;
    }
    if (const std::shared_ptr<Recording> latest = event->latest()) {
        if (latest->capture != nullptr || queue->is_capturing()) {
            return StreamCapture::wait(queue, latest->capture.get(), latest->clock);
        }
        system->order().stream_waits(queue->number(), latest->clock);
        if (latest->has_passed_well()) {
            return {};
        }
        queue->push({"", 0, [latest] {
                         latest->wait();
                         if (!latest->failure.empty()) {
                             throw std::runtime_error(latest->failure);
                         }
                     }});
    }
    return {};
}

Status synchronizeEvent(EventHandle event) {
    System* system = nullptr;
    const Status status = require_event(event, &system);
    if (!status.ok()) {
        return status;
    }
    if (const std::shared_ptr<Recording> latest = event->latest()) {
        if (latest->capture != nullptr) {
            return in_capture("a wait of the host for an event");
        }
        Batch::submit_held();
        latest->wait();
        system->order().host_waited(latest->clock);
        if (!latest->failure.empty()) {
            return {Code::kernelFailed, latest->failure};
        }
    }
    return {};
}

Status queryEvent(EventHandle event, bool* done) {
    System* system = nullptr;
    const Status status = require_event(event, &system);
    if (!status.ok()) {
        return status;
    }
    Batch::submit_held();
    const std::shared_ptr<Recording> latest = event->latest();
    if (latest != nullptr && latest->capture != nullptr) {
        return in_capture("a query of an event");
    }
    *done = latest == nullptr || latest->is_done();
    if (*done && latest != nullptr) {
        system->order().host_waited(latest->clock);
    }
    return {};
}

Status elapsedTime(EventHandle start, EventHandle end, double* milliseconds) {
    System* system = nullptr;
    double times[2] = {0, 0};
    const EventHandle events[2] = {start, end};
    for (int i = 0; i < 2; ++i) {
        if (const Status status = require_event(events[i], &system); !status.ok()) {
            return status;
        }
        const std::shared_ptr<Recording> latest = events[i]->latest();
        if (latest == nullptr || !latest->is_done()) {
            return {Code::invalidArgument, std::string("elapsed time: the ") + (i == 0 ? "first" : "second") +
                                               " event " + (latest == nullptr ? "was never recorded" : "is not done")};
        }
        times[i] = latest->time;
    }
    *milliseconds = (times[1] - times[0]) * 1e3;
    return {};
}

}  // namespace diopigen::sim
