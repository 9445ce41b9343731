// Work objects of collectives, and the thread that monitors those in flight.
#ifndef DIOPIGEN_TORCH_DISTRIBUTED_WORK_H_
#define DIOPIGEN_TORCH_DISTRIBUTED_WORK_H_

#include <c10/core/Event.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
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
    c10d::OpType op = c10d::OpType::UNKNOWN;
    std::vector<int64_t> sizes;
    c10::ScalarType dtype = c10::ScalarType::Undefined;
    Clock::time_point issued{};
    Clock::time_point finished{};
    bool is_finished = false;

    /// "ALLREDUCE of [1024] Float"
    std::string text() const;
};

/// A call in flight, as the watchdog sees it. It keeps no tensor.
class Flight {
  public:
    Flight(std::vector<std::shared_ptr<Communicator>> communicators, std::chrono::milliseconds timeout,
           std::shared_ptr<Record> record);

    /// Marks the work that is on the streams now as that of the call.
    void issued(const std::vector<c10::Stream>& streams);
    bool is_done() const;
    /// Lets a stream wait for the call.
    void block(c10::Stream stream) const;
    void abort();

    /// The call has failed; the first text counts.
    void fail(const std::string& text);
    /// Null where it has not.
    std::exception_ptr exception() const;
    /// Error of the communicators; empty if they have not failed.
    std::string error() const;

    c10::Device device() const { return communicators_.front()->device(); }
    c10::Stream last_stream() const { return streams_.back(); }
    Clock::time_point deadline() const { return record_->issued + timeout_; }
    std::chrono::milliseconds timeout() const { return timeout_; }
    const std::shared_ptr<Record>& record() const { return record_; }

  private:
    const std::vector<std::shared_ptr<Communicator>> communicators_;
    const std::chrono::milliseconds timeout_;
    const std::shared_ptr<Record> record_;
    std::vector<c10::Stream> streams_;
    std::vector<c10::Event> ends_;
    mutable std::mutex mutex_;
    std::exception_ptr exception_;
};

class Work final : public c10d::Work {
  public:
    Work(int rank, std::shared_ptr<Flight> flight, std::vector<at::Tensor> outputs);

    /// The host waits in wait(), as for a barrier.
    void make_blocking() { is_blocking_ = true; }

    bool isCompleted() override { return flight_->exception() != nullptr || flight_->is_done(); }
    bool isSuccess() const override { return flight_->exception() == nullptr; }
    std::exception_ptr exception() const override { return flight_->exception(); }
    /// The current stream waits, and the host does not, but with a timeout and for a barrier.
    bool wait(std::chrono::milliseconds timeout) override;
    void synchronize() override;
    void abort() override { flight_->abort(); }
    std::vector<at::Tensor> result() override { return outputs_; }
    /// Its callbacks run on streams that wait for the call.
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
    uint64_t getSequencenumber() const override { return flight_->record()->number; }

  private:
    void rethrow() const;

    const std::shared_ptr<Flight> flight_;
    const std::vector<at::Tensor> outputs_;
    std::mutex future_mutex_;
    c10::intrusive_ptr<c10::ivalue::Future> future_;
    bool is_blocking_ = false;
};

/// Looks at calls in flight: notices failures and timeouts, and then ends all of them.
class Watchdog {
  public:
    /// `on_failure` is called once, on its thread, with the text that calls fail with.
    explicit Watchdog(std::function<void(const std::string&)> on_failure);
    ~Watchdog();

    void add(std::shared_ptr<Flight> flight);
    /// A new call; its tensor may be null.
    std::shared_ptr<Record> record(uint64_t number, c10d::OpType op, const at::Tensor* tensor);
    /// The last calls, one a line, the oldest first.
    std::string dump() const;
    /// Empty where nothing has failed.
    std::string failure() const;
    /// Waits for all calls.
    void drain();
    /// All that is in flight fails with this text.
    void end(const std::string& text);

  private:
    void run();
    void look();

    const std::function<void(const std::string&)> on_failure_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::list<std::shared_ptr<Flight>> flights_;
    std::deque<std::shared_ptr<Record>> records_;
    std::string failure_;
    bool is_ending_ = false;
    std::thread thread_;
};

}  // namespace diopigen::distributed

#endif  // DIOPIGEN_TORCH_DISTRIBUTED_WORK_H_
