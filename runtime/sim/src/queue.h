// The work of one stream and the thread that does it.
#ifndef DIOPIGEN_SIM_SRC_QUEUE_H_
#define DIOPIGEN_SIM_SRC_QUEUE_H_

#include <diopigen_sim/status.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "capture.h"
#include "order.h"
#include "settings.h"

namespace diopigen::sim {

struct Allocation;
class StreamCapture;

/// A range of device memory that was checked: where it lies for kernels, and whose it is.
struct Range {
    void* address = nullptr;
    Allocation* allocation = nullptr;
    uint64_t index = 0;  ///< of the allocation
    MemoryAccess access;
};

struct Task {
    std::string name;  ///< empty for what is no work of the device: events
    uint64_t bytes = 0;
    std::function<void()> run;  ///< may throw; the text becomes the stream's failure
    /// What `run` runs, where it is captured or replayed; it has the name then.
    std::shared_ptr<const CapturedKernel> kernel = nullptr;
    std::vector<Range> uses = {};  ///< under the order check

    const char* label() const { return kernel == nullptr ? name.c_str() : kernel->name.c_str(); }
    /// Whether it is work of the device, which has a name.
    bool is_work() const { return *label() != '\0'; }
};

/// Work by reference, for those who run it before they return: a std::function would cost more than small work.
class Work {
  public:
    template <typename Function>
    explicit Work(const Function& function)
        : function_(&function), run_([](const void* of) { (*static_cast<const Function*>(of))(); }) {}
    void operator()() const { run_(function_); }

  private:
    const void* function_;
    void (*run_)(const void*);
};

class Queue;

/// While it lives, what the calling thread pushes to a queue is held back. Then it goes to the queue as one task, or
/// earlier where the thread waits for a stream or an event. One at a time for a thread.
class Batch {
  public:
    explicit Batch(Queue& queue);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    /// Whether the calling thread has one.
    static bool exists();
    /// Pushes what the calling thread holds back: it is about to ask for what may be in it, or waits for it.
    static void submit_held();
    const Queue* queue() const { return &queue_; }
    void add(Task task);
    /// Pushes what is held back.
    void submit();

  private:
    Queue& queue_;
    std::vector<Task> tasks_;
};

/// An in-order queue. Safe from any thread.
class Queue {
  public:
    Queue(int device, int number, const Settings& settings);
    /// Does all work first.
    ~Queue();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    int device() const { return device_; }
    int number() const { return number_; }

    /// Waits while a thousand tasks are queued already.
    void push(Task task);
    /// As one task of the queue, at once where the queue is idle and the work is small.
    void push_all(std::shared_ptr<const std::vector<Task>> tasks);
    /// The capture that records what is pushed; null for none.
    std::shared_ptr<StreamCapture> capture();
    void set_capture(std::shared_ptr<StreamCapture> capture);
    bool is_capturing() const { return is_capturing_; }
    /// How often any queue of the process was given work.
    static uint64_t submissions();
    /// Runs work on the calling thread, where all that was pushed is done; false, and nothing has happened, where it is
    /// not, or where work is delayed.
    bool run_if_idle(const char* name, uint64_t bytes, Work run);
    /// Whether all that was pushed is done, without a failure that was not taken: what was written can be read. A
    /// thread that pushes meanwhile does not wait for those who read. False as well where work is delayed.
    bool is_done() const;
    /// Whether all that was pushed is done; the text of a failure that was not taken, if there is one. False as well
    /// where work is delayed.
    bool is_idle(std::string* failure);
    /// Waits for all that has been pushed until now.
    void wait();
    /// The first failure since the last call.
    Status take_failure();
    /// The text of that failure, which stays; empty where there is none.
    std::string failure_text();

  private:
    void work();
    bool take(std::vector<Task>* tasks);
    std::string run_one(const char* name, uint64_t bytes, Work run) const;
    void fail(const char* name, const std::string& failure);
    void enqueue(Task task);
    void delay(uint64_t position) const;

    const int device_;
    const int number_;
    const Settings& settings_;
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::condition_variable finished_;
    std::vector<Task> tasks_;
    alignas(64) std::atomic<uint64_t> pushed_{0};  // a cache line for each: one thread spins on what the other writes
    alignas(64) std::atomic<uint64_t> done_{0};
    std::atomic<int> waiting_{0};  ///< threads in wait() that sleep, or are about to
    bool worker_sleeps_ = false;
    std::atomic<bool> ending_{false};
    Status failure_;
    std::atomic<bool> has_failed_{
        false};  ///< whether failure_ is one; set under the lock, before the task counts as done
    std::atomic<bool> is_capturing_{false};  ///< whether capture_ is one
    std::shared_ptr<StreamCapture> capture_;
    std::thread worker_;
};

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_QUEUE_H_
