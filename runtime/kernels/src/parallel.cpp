#include <diopigen_kernels/parallel.h>
#include <diopigen_kernels/spin.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace diopigen::kernels {
namespace {

constexpr unsigned kMostThreads = 8;

std::atomic<const ThreadScope*> thread_scope{nullptr};

/// One call of forRanges, for all threads that work on it.
class Job {
  public:
    Job(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body)
        : count_(count),
          grain_(grain),
          body_(body),
          scope_(thread_scope),
          current_(scope_ == nullptr ? nullptr : scope_->current()) {}

    /// Runs ranges until none is left.
    void work() {
        for (int64_t first = next_.fetch_add(grain_); first < count_; first = next_.fetch_add(grain_)) {
            try {
                body_(first, std::min(first + grain_, count_));
            } catch (...) {
                const std::lock_guard<std::mutex> lock(mutex_);
                failure_ = failure_ == nullptr ? std::current_exception() : failure_;
            }
        }
    }
    /// The same on a thread that helps.
    void help() {
        if (scope_ != nullptr) {
            scope_->enter(current_);
        }
        work();
        if (scope_ != nullptr) {
            scope_->leave();
        }
    }
    /// When all are done.
    void rethrow() const {
        if (failure_ != nullptr) {
            std::rethrow_exception(failure_);
        }
    }

  private:
    const int64_t count_;
    const int64_t grain_;
    const std::function<void(int64_t, int64_t)>& body_;
    const ThreadScope* const scope_;
    const void* const current_;
    std::atomic<int64_t> next_{0};
    std::mutex mutex_;
    std::exception_ptr failure_;
};

/// The threads that help, one for each processor but the caller's; made at the first use and never joined, since
/// kernels may run until the end of the process.
class Helpers {
  public:
    static Helpers& get() {
        static auto* const created = new Helpers;
        return *created;
    }

    /// False, and nothing has happened, where another job has the threads, or there are none.
    bool run(Job* job) {
        const std::unique_lock<std::mutex> only(used_, std::try_to_lock);
        if (!only.owns_lock() || !has_threads_) {
            return false;
        }
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            job_ = job;
            ++round_;
        }
        arrived_.notify_all();
        job->work();
        std::unique_lock<std::mutex> lock(mutex_);
        job_ = nullptr;  // a thread that has not come yet finds nothing
        if (active_ != 0) {
            lock.unlock();
            lookFor([&] { return active_ == 0; });
            lock.lock();
            left_.wait(lock, [&] { return active_ == 0; });
        }
        return true;
    }

  private:
    Helpers() {
        const unsigned processors = std::min(std::thread::hardware_concurrency(), kMostThreads);
        for (unsigned i = 1; i < processors; ++i) {
            std::thread([this] { help(); }).detach();
            has_threads_ = true;
        }
    }

    void help() {
        for (uint64_t seen = 0;;) {
            lookFor([&] { return round_ != seen; });
            std::unique_lock<std::mutex> lock(mutex_);
            arrived_.wait(lock, [&] { return round_ != seen; });
            seen = round_;
            Job* const job = job_;
            if (job == nullptr) {
                continue;
            }
            ++active_;
            lock.unlock();
            job->help();
            lock.lock();
            if (--active_ == 0) {
                left_.notify_one();
            }
        }
    }

    std::mutex used_;
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::condition_variable left_;
    Job* job_ = nullptr;
    std::atomic<uint64_t> round_{0};
    std::atomic<int> active_{0};
    bool has_threads_ = false;
};

}  // namespace

void setThreadScope(const ThreadScope* scope) { thread_scope = scope; }

void forRanges(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
    if (count <= grain) {
        if (count > 0) {
            body(0, count);
        }
        return;
    }
    Job job(count, grain, body);
    if (!Helpers::get().run(&job)) {
        job.work();
    }
    job.rethrow();
}

}  // namespace diopigen::kernels
