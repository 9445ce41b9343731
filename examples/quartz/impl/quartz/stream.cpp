#include "quartz/stream.h"

#include <utility>

namespace impl {
namespace quartz {

Stream::~Stream() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        isEnding_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

Stream& Stream::of(diopiStreamHandle_t handle) {
    static Stream first;
    return handle == nullptr ? first : *reinterpret_cast<Stream*>(handle);
}

void Stream::add(std::function<Status()> work) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        work_.push_back(std::move(work));
    }
    changed_.notify_all();
}

Stream::Status Stream::wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return work_.empty(); });
    return std::exchange(failure_, Status());
}

void Stream::run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return isEnding_ || !work_.empty(); });
        if (work_.empty()) {
            return;
        }
        const std::function<Status()> work = work_.front();
        lock.unlock();
        const Status status = work();
        lock.lock();
        work_.pop_front();
        if (!status.ok() && failure_.ok()) {
            failure_ = status;
        }
        changed_.notify_all();
    }
}

}  // namespace quartz
}  // namespace impl
