// Capture of streams: their work is recorded, and runs as often as it is launched.
#ifndef DIOPIGEN_SIM_SRC_STREAM_CAPTURE_H_
#define DIOPIGEN_SIM_SRC_STREAM_CAPTURE_H_

#include <diopigen_sim/status.h>
#include <diopigen_sim/stream.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "order.h"
#include "queue.h"

namespace diopigen::sim {

/// One capture: the stream on which it began, those that have joined it, and their work in the order in which it was
/// queued. That order satisfies all waits among the streams, so a launch runs the work one after another.
class StreamCapture : public std::enable_shared_from_this<StreamCapture> {
  public:
    explicit StreamCapture(std::shared_ptr<Queue> origin);

    uint64_t number() const { return number_; }
    void add(const Queue& queue, Task task);
    /// Of the streams in the capture.
    OrderCheck& order() { return order_; }

    static Status begin(const std::shared_ptr<Queue>& origin);
    /// `queue` waits for an event: of `capture`, which is null for one from outside of captures, at `clock`.
    static Status wait(const std::shared_ptr<Queue>& queue, StreamCapture* capture, const Clock& clock);
    /// Ends it; `status` is about a stream that was not joined again.
    std::vector<Task> end(Status* status);
    const Queue* origin() const { return origin_.get(); }

  private:
    Status join(const std::shared_ptr<Queue>& queue);

    const uint64_t number_;
    const std::shared_ptr<Queue> origin_;
    std::mutex mutex_;
    bool has_ended_ = false;
    std::vector<std::shared_ptr<Queue>> streams_;
    std::vector<Task> tasks_;
    OrderCheck order_;
};

/// Fails where the stream is being captured: `what` begins the message.
Status require_no_capture(const Queue& queue, const char* what);

// The functions of diopigen/stream_capture.h.
Status begin_capture(StreamHandle stream);
Status capture_of(StreamHandle stream, uint64_t* capture);
Status end_capture(StreamHandle stream, void** graph);
Status launch_captured(void* graph, StreamHandle stream);
Status destroy_captured(void* graph);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_STREAM_CAPTURE_H_
