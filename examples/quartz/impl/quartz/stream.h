// A queue of work with a thread of its own: what a stream of the driver would be.
#ifndef IMPL_QUARTZ_STREAM_H_
#define IMPL_QUARTZ_STREAM_H_

#include <diopi/diopirt.h>
#include <diopigen_kernels/status.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace impl {
namespace quartz {

class Stream {
  public:
    using Status = diopigen::kernels::Status;

    Stream() : thread_([this] { run(); }) {}
    /** Finishes the work that is pending. */
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    /** The stream behind a handle. The null handle is a stream as well. */
    static Stream& of(diopiStreamHandle_t handle);

    /** Queues work, which runs after the work before it. */
    void add(std::function<Status()> work);

    /** Waits until no work is left. Returns the first failure since the last wait. */
    Status wait();

  private:
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<Status()>> work_;  // the front is running, and leaves when it is done
    bool isEnding_ = false;
    Status failure_;
    std::thread thread_;
};

}  // namespace quartz
}  // namespace impl

#endif  // IMPL_QUARTZ_STREAM_H_
