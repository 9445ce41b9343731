#include "diopi_cpu/threads.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace diopi::cpu {

namespace {

thread_local bool is_inside = false;

int configured_count() {
    for (const char* name : {"DIOPI_NUM_THREADS", "OMP_NUM_THREADS"}) {
        const char* text = std::getenv(name);
        const long count = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
        if (count > 0) {
            return static_cast<int>(std::min(count, 1024L));
        }
    }
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Workers that wait for one job at a time; the calling thread works too.
class Pool {
  public:
    explicit Pool(int workers) {
        for (int i = 0; i < workers; ++i) {
            threads_.emplace_back([this, i] { work(i + 1); });
        }
    }

    ~Pool() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            is_ending_ = true;
        }
        wake_.notify_all();
        for (std::thread& thread : threads_) {
            thread.join();
        }
    }

    void run(int parts, const std::function<void(int)>& part) {
        // One job at a time: calls from several threads of the host queue here.
        const std::lock_guard<std::mutex> turn(turn_);
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            part_ = &part;
            parts_ = parts;
            pending_ = static_cast<int>(threads_.size());
            failure_ = nullptr;
            ++job_;
        }
        wake_.notify_all();
        attempt(0, parts, part);
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [this] { return pending_ == 0; });
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

  private:
    void attempt(int index, int parts, const std::function<void(int)>& part) {
        if (index >= parts) {
            return;
        }
        is_inside = true;
        try {
            part(index);
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!failure_) {
                failure_ = std::current_exception();
            }
        }
        is_inside = false;
    }

    void work(int index) {
        uint64_t seen = 0;
        while (true) {
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [&] { return is_ending_ || job_ != seen; });
            if (is_ending_) {
                return;
            }
            seen = job_;
            const std::function<void(int)>& part = *part_;
            const int parts = parts_;
            lock.unlock();
            attempt(index, parts, part);
            lock.lock();
            if (--pending_ == 0) {
                done_.notify_one();
            }
        }
    }

    std::vector<std::thread> threads_;
    std::mutex turn_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable done_;
    const std::function<void(int)>* part_ = nullptr;
    int parts_ = 0;
    int pending_ = 0;
    uint64_t job_ = 0;
    bool is_ending_ = false;
    std::exception_ptr failure_;
};

}  // namespace

int thread_count() {
    static const int count = configured_count();
    return count;
}

void parallel_for(int64_t total, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
    if (total <= 0) {
        return;
    }
    const int64_t parts = is_inside ? 1 : std::min<int64_t>(thread_count(), total / std::max<int64_t>(grain, 1));
    if (parts <= 1) {
        body(0, total);
        return;
    }
    static Pool pool(thread_count() - 1);
    pool.run(static_cast<int>(parts), [&](int part) {
        const int64_t size = total / parts;
        const int64_t rest = total % parts;
        const int64_t begin = size * part + std::min<int64_t>(part, rest);
        body(begin, begin + size + (part < rest ? 1 : 0));
    });
}

}  // namespace diopi::cpu
