// A thread pool of std::thread.
#ifndef _OPENMP

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "thread_pool.h"

namespace diopigen::cpu::thread_pool {

namespace {

// Workers that wait for one job at a time; the calling thread works too.
class Workers {
  public:
    explicit Workers(int count) {
        for (int i = 0; i < count; ++i) {
            threads_.emplace_back([this, i] { work(i + 1); });
        }
    }

    ~Workers() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            is_ending_ = true;
        }
        wake_.notify_all();
        for (std::thread& thread : threads_) {
            thread.join();
        }
    }

    void run(int count, const FunctionRef<void(int)>& part) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            part_ = &part;
            count_ = count;
            pending_ = static_cast<int>(threads_.size());
            ++job_;
        }
        wake_.notify_all();
        part(0);
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [this] { return pending_ == 0; });
    }

  private:
    void work(int index) {
        uint64_t seen = 0;
        while (true) {
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [&] { return is_ending_ || job_ != seen; });
            if (is_ending_) {
                return;
            }
            seen = job_;
            const FunctionRef<void(int)> part = *part_;
            const int count = count_;
            lock.unlock();
            if (index < count) {
                part(index);
            }
            lock.lock();
            if (--pending_ == 0) {
                done_.notify_one();
            }
        }
    }

    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable done_;
    const FunctionRef<void(int)>* part_ = nullptr;
    int count_ = 0;
    int pending_ = 0;
    uint64_t job_ = 0;
    bool is_ending_ = false;
};

}  // namespace

void run(int count, FunctionRef<void(int)> part) {
    static Workers workers(thread_count() - 1);
    workers.run(count, part);
}

bool is_inside_foreign() { return false; }

int limit_others(int count) { return count; }

}  // namespace diopigen::cpu::thread_pool

#endif  // !_OPENMP
