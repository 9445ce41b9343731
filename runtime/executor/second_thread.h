// A thread besides the first one of the process, for calls that come from elsewhere, as those of a backward pass do.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace diopigen::executor {

class SecondThread {
  public:
    /// Does the work in the thread, which starts with the first one; throws what it throws.
    void run(const std::function<void()>& work) {
        std::unique_lock<std::mutex> lock(mutex_);
        if (!is_started_) {
            std::thread([this] { serve(); }).detach();
            is_started_ = true;
        }
        work_ = &work;
        changed_.notify_all();
        changed_.wait(lock, [this] { return work_ == nullptr; });
        if (error_ != nullptr) {
            std::rethrow_exception(std::exchange(error_, nullptr));
        }
    }

  private:
    [[noreturn]] void serve() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return work_ != nullptr; });
            try {
                (*work_)();
            } catch (...) {
                error_ = std::current_exception();
            }
            work_ = nullptr;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_started_ = false;
    const std::function<void()>* work_ = nullptr;
    std::exception_ptr error_;
};

}  // namespace diopigen::executor
