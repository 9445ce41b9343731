#include "queue.h"

#include <diopigen_kernels/spin.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "fault.h"
#include "stream_capture.h"
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

// A host that is ahead of the device by so much work waits, as the drivers of real devices let it: memory for what is
// queued is bounded, and a program that is interrupted ends soon.
constexpr uint64_t kMostQueued = 1024;

// Bytes that all kernels of a batch work on, up to which the thread that submits it does not wait for another one.
constexpr uint64_t kSmallBatch = 1 << 16;

std::atomic<uint64_t> submitted{0};
__attribute__((tls_model("initial-exec"))) thread_local Batch* held = nullptr;  // every launch reads it

}  // namespace

Batch::Batch(Queue& queue) : queue_(queue) { held = this; }

Batch::~Batch() {
    submit();
    held = nullptr;
}

bool Batch::exists() { return held != nullptr; }

void Batch::submit_held() {
    if (Capture* const capture = Capture::current()) {
        capture->interrupt();
    }
    if (held != nullptr) {
        held->submit();
    }
}

void Batch::add(Task task) { tasks_.push_back(std::move(task)); }

void Batch::submit() {
    if (!tasks_.empty()) {
        queue_.push_all(std::make_shared<const std::vector<Task>>(std::exchange(tasks_, {})));
    }
}

uint64_t Queue::submissions() { return submitted.load(std::memory_order_relaxed); }

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
    if (Capture* const capture = Capture::current()) {
        capture->add(*this, task.kernel);
    }
    if (const std::shared_ptr<StreamCapture> capture = this->capture()) {
        capture->add(*this, std::move(task));
        return;
    }
    if (held != nullptr && held->queue() == this) {
        held->add(std::move(task));
        return;
    }
    submitted.fetch_add(task.is_work() ? 1 : 0, std::memory_order_relaxed);
    enqueue(std::move(task));
}

std::shared_ptr<StreamCapture> Queue::capture() {
    if (!is_capturing_) {
        return nullptr;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    return capture_;
}

void Queue::set_capture(std::shared_ptr<StreamCapture> capture) {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_capturing_ = capture != nullptr;
    capture_ = std::move(capture);
}

void Queue::push_all(std::shared_ptr<const std::vector<Task>> tasks) {
    submitted.fetch_add(1, std::memory_order_relaxed);
    uint64_t bytes = 0;
    for (const Task& task : *tasks) {
        bytes += task.bytes;
    }
    // Each of the tasks fails, and is traced, by itself.
    const bool is_work =
        std::all_of(tasks->begin(), tasks->end(), [](const Task& task) { return task.is_work(); });  // no events
    if (settings_.is_plain() && is_work && bytes <= kSmallBatch && pushed_ == done_) {
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (lock.owns_lock() && pushed_ == done_) {
            for (const Task& task : *tasks) {
                if (const std::string failure = run_one(task.label(), task.bytes, Work(task.run)); !failure.empty()) {
                    fail(task.label(), failure);
                }
            }
            return;
        }
    }
    auto run = [this, tasks = std::move(tasks)] {
        for (const Task& task : *tasks) {
            if (const std::string failure = run_one(task.label(), task.bytes, Work(task.run)); !failure.empty()) {
                const std::lock_guard<std::mutex> lock(mutex_);
                fail(task.label(), failure);
            }
        }
    };
    enqueue({"", bytes, std::move(run)});
}

void Queue::enqueue(Task task) {
    bool sleeps = false;
    {
        std::unique_lock<std::mutex> lock(mutex_);
        if (pushed_ - done_ >= kMostQueued) {
            // Until half of it is done: to wait for each place by itself would wake two threads for every kernel.
            ++waiting_;
            finished_.wait(lock, [&] { return pushed_ - done_ <= kMostQueued / 2; });
            --waiting_;
        }
        tasks_.push_back(std::move(task));
        ++pushed_;
        sleeps = worker_sleeps_;
    }
    if (sleeps) {
        arrived_.notify_one();
    }
}

void Queue::wait() {
    Batch::submit_held();  // whichever queue it is of: this one may wait for it
    const uint64_t until = pushed_;
    const auto is_done = [&] { return done_ >= until; };
    kernels::lookFor(is_done);
    if (is_done()) {
        return;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    ++waiting_;  // before it looks: a thread that finishes a task sees the count, or its task is seen here
    finished_.wait(lock, is_done);
    --waiting_;
}

Status Queue::take_failure() {
    if (!has_failed_) {
        return {};
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    has_failed_ = false;
    return std::exchange(failure_, Status());
}

std::string Queue::failure_text() {
    if (!has_failed_) {
        return {};
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    return failure_.text();
}

bool Queue::take(std::vector<Task>* tasks) {
    kernels::lookFor([&] { return ending_ || pushed_ != done_; });
    std::unique_lock<std::mutex> lock(mutex_);
    worker_sleeps_ = true;
    arrived_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
    worker_sleeps_ = false;
    if (tasks_.empty()) {
        return false;
    }
    tasks->swap(tasks_);  // all at once: two threads that share a lock for each task wait for each other
    return true;
}

void Queue::work() {
    use_signal_stack();
    uint64_t position = 0;
    std::vector<Task> tasks;
    while (take(&tasks)) {
        for (Task& task : tasks) {
            if (task.is_work()) {
                delay(++position);
            }
            if (const std::string failure = run_one(task.label(), task.bytes, Work(task.run)); !failure.empty()) {
                const std::lock_guard<std::mutex> lock(mutex_);
                fail(task.label(), failure);
            }
            task = Task();  // what the kernel captured is gone before anyone is told that it is done
            ++done_;
            if (waiting_ > 0) {
                {
                    const std::lock_guard<std::mutex> lock(mutex_);
                }  // the thread that counted itself now sleeps
                finished_.notify_all();
            }
        }
        tasks.clear();
    }
    drop_signal_stack();
}

bool Queue::run_if_idle(const char* name, uint64_t bytes, Work run) {
    if (settings_.delay_microseconds != 0 || pushed_ != done_ || is_capturing_ ||
        (held != nullptr && held->queue() == this)) {
        return false;
    }
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || pushed_ != done_) {
        return false;
    }
    if (Capture* const capture = Capture::current()) {
        capture->interrupt();
    }
    // The lock keeps the order: nothing is pushed, and so nothing starts, before this is done.
    submitted.fetch_add(1, std::memory_order_relaxed);
    if (const std::string failure = run_one(name, bytes, run); !failure.empty()) {
        fail(name, failure);
    }
    return true;
}

bool Queue::is_done() const {
    return settings_.delay_microseconds == 0 && held == nullptr && pushed_ == done_ && !has_failed_ && !is_capturing_ &&
           Capture::current() == nullptr;
}

bool Queue::is_idle(std::string* failure) {
    if (Capture* const capture = Capture::current()) {
        capture->interrupt();
    }
    if (settings_.delay_microseconds != 0 || pushed_ != done_ || (held != nullptr && held->queue() == this)) {
        return false;
    }
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || pushed_ != done_) {
        return false;
    }
    *failure = failure_.text();
    return true;
}

// Runs work, and says how it failed; "" where it did not.
std::string Queue::run_one(const char* name, uint64_t bytes, Work run) const {
    const bool is_work = *name != '\0';
    const bool is_logged = is_work && keeps_log();
    if (is_work) {
        set_running({name, number_});
    }
    const double start = is_logged ? seconds_now() : 0;
    std::string failure;
    try {
        run();
    } catch (const std::exception& exception) {
        failure = *exception.what() == '\0' ? "an exception without a text" : exception.what();
    } catch (...) {
        failure = "unknown exception";
    }
    if (is_work) {
        set_running({});
    }
    if (is_logged) {
        log_work({start, seconds_now(), device_, number_, name, bytes});
    }
    return failure;
}

// Notes the first failure; under the lock.
void Queue::fail(const char* name, const std::string& failure) {
    if (failure_.ok()) {
        const char* const what = *name == '\0' ? "a wait for an event" : name;
        failure_ = Status(Code::kernelFailed,
                          std::string(what) + " on stream " + std::to_string(number_) + " failed: " + failure);
        has_failed_ = true;
    }
}

// A delay is a function of the seed, the stream and the position in it, and of nothing else: a run that fails can be
// repeated.
void Queue::delay(uint64_t position) const {
    if (settings_.delay_microseconds == 0) {
        return;
    }
    const uint64_t sampled =
        mixed(mixed(settings_.delay_seed) ^ mixed((static_cast<uint64_t>(number_) << 40) + position));
    std::this_thread::sleep_for(std::chrono::microseconds(sampled % (settings_.delay_microseconds + 1)));
}

}  // namespace diopigen::sim
