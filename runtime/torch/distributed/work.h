// What a collective returns, and the thread that looks after those in flight.
#ifndef DIOPIGEN_TORCH_DISTRIBUTED_WORK_H_
#define DIOPIGEN_TORCH_DISTRIBUTED_WORK_H_

#include <c10/core/Event.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "communicator.h"

namespace diopigen::distributed {

using Clock = std::chrono::steady_clock;

/// A call in the record of the last ones.
struct Record {
    uint64_t number = 0;
    std::string text;  ///< "ALLREDUCE of 1024 Float"
    Clock::time_point issued;
    Clock::time_point finished{};
    bool isFinished = false;
};

class Work final : public c10d::Work {
  public:
    Work(int rank, c10d::OpType op, std::vector<std::shared_ptr<Communicator>> communicators,
         std::chrono::milliseconds timeout, std::shared_ptr<Record> record);

    /// What is on the streams now is the work.
    void issued(const std::vector<c10::Stream>& streams, std::vector<at::Tensor> outputs);
    /// The host waits in wait(), as for a barrier.
    void makeBlocking() { isBlocking_ = true; }

    bool isCompleted() override;
    bool isSuccess() const override;
    /// The current stream waits, and the host does not, but with a timeout and for a barrier.
    bool wait(std::chrono::milliseconds timeout) override;
    void synchronize() override;
    void abort() override;
    std::vector<at::Tensor> result() override { return outputs_; }
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
    uint64_t getSequencenumber() const override { return record_->number; }

    // ---- for the watchdog ----

    bool isDone();
    void fail(const std::string& text);
    std::string error() const;
    Clock::time_point deadline() const { return record_->issued + timeout_; }
    std::chrono::milliseconds timeout() const { return timeout_; }
    const std::shared_ptr<Record>& record() const { return record_; }

  private:
    void rethrow() const;

    const std::vector<std::shared_ptr<Communicator>> communicators_;
    const std::chrono::milliseconds timeout_;
    const std::shared_ptr<Record> record_;
    std::vector<c10::Event> ends_;
    std::vector<at::Tensor> outputs_;
    c10::intrusive_ptr<c10::ivalue::Future> future_;
    bool isBlocking_ = false;
};

/// Looks at work in flight: notices failures and timeouts, and then ends all of it.
class Watchdog {
  public:
    /// `onFailure` is called once, on its thread, with the text that work fails with.
    explicit Watchdog(std::function<void(const std::string&)> onFailure);
    ~Watchdog();

    void add(c10::intrusive_ptr<Work> work);
    std::shared_ptr<Record> record(uint64_t number, std::string text);
    /// The last calls, one a line, the oldest first.
    std::string dump() const;
    /// Empty where nothing has failed.
    std::string failure() const;
    /// Waits for all work.
    void drain();
    /// All that is in flight fails with this text.
    void end(const std::string& text);

  private:
    void run();
    void look();

    const std::function<void(const std::string&)> onFailure_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::list<c10::intrusive_ptr<Work>> works_;
    std::deque<std::shared_ptr<Record>> records_;
    std::string failure_;
    bool isEnding_ = false;
    std::thread thread_;
};

}  // namespace diopigen::distributed

#endif  // DIOPIGEN_TORCH_DISTRIBUTED_WORK_H_
