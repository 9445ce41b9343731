#include "queue.h"

#include <chrono>
#include <exception>
#include <utility>

#include "fault.h"
#include "trace_log.h"

namespace diopigen::sim {
namespace {

/// SplitMix64: one round mixes all bits of a number.
uint64_t mixed(uint64_t number) {
    number += 0x9e3779b97f4a7c15;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

}  // namespace

Queue::Queue(int device, int number, const Settings& settings)
    : device_(device), number_(number), settings_(settings), worker_([this] { work(); }) {}

Queue::~Queue() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        ending_ = true;
    }
    arrived_.notify_one();
    worker_.join();
}

void Queue::push(Task task) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        tasks_.push_back(std::move(task));
        ++pushed_;
    }
    arrived_.notify_one();
}

void Queue::wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    const uint64_t until = pushed_;
    finished_.wait(lock, [&] { return done_ >= until; });
}

Status Queue::takeFailure() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(failure_, Status());
}

void Queue::work() {
    useSignalStack();
    uint64_t position = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
        arrived_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
        if (tasks_.empty()) {
            break;
        }
        {
            const Task task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            if (!task.name.empty()) {
                ++position;
            }
            runOne(task, position);
        }  // what the kernel captured is gone before anyone is told that it is done
        lock.lock();
        ++done_;
        finished_.notify_all();
    }
    dropSignalStack();
}

void Queue::runOne(const Task& task, uint64_t position) {
    const bool isWork = !task.name.empty();
    if (isWork) {
        delay(position);
        setRunning({task.name.c_str(), number_});
    }
    const double start = secondsNow();
    std::string failure;
    try {
        task.run();
    } catch (const std::exception& exception) {
        failure = exception.what();
    } catch (...) {
        failure = "unknown exception";
    }
    if (isWork) {
        setRunning({});
        logWork(task, start, secondsNow(), device_, number_);
    }
    if (!failure.empty()) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (failure_.ok()) {
            const std::string text = task.name + " on stream " + std::to_string(number_) + " failed: " + failure;
            failure_ = Status(Code::kernelFailed, text);
        }
    }
}

// A delay is a function of the seed, the stream and the position in it, and of nothing else: a run that fails can be
// repeated.
void Queue::delay(uint64_t position) const {
    if (settings_.delayMicroseconds == 0) {
        return;
    }
    const uint64_t drawn = mixed(mixed(settings_.delaySeed) ^ mixed((static_cast<uint64_t>(number_) << 40) + position));
    std::this_thread::sleep_for(std::chrono::microseconds(drawn % (settings_.delayMicroseconds + 1)));
}

}  // namespace diopigen::sim
