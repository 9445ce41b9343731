// A rank's side of a communicator: the order of its calls, rounds of messages, and failures.
#ifndef DIOPIGEN_SIM_SRC_FABRIC_COMMUNICATOR_H_
#define DIOPIGEN_SIM_SRC_FABRIC_COMMUNICATOR_H_

#include <diopigen_sim/status.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "faults.h"
#include "segment.h"

namespace diopigen::sim::fabric {

enum class Kind : int32_t {
    kAllReduce,
    kBroadcast,
    kAllGather,
    kReduce,
    kReduceScatter,
    kAllToAll,
    kAllToAllUnequal,
    kSend
};

/// One call, as all ranks of it have to make it.
struct Operation {
    Kind kind;
    int32_t dtype = 0;
    int32_t op = -1;    ///< -1 where nothing is reduced
    int32_t root = -1;  ///< -1 where there is none
    int64_t count = 0;  ///< -1 where ranks may differ
    uint64_t number = 0;
};

/// Calls that run one after the other, in the order in which they were issued, on whatever streams they are.
class Line {
  public:
    /// Puts a call behind those issued before, where `launch`, which queues it with the number, succeeds.
    Status issue(const std::function<Status(uint64_t)>& launch);
    /// Runs `body` when those in front are done; throws where `stops` says so before.
    void run(uint64_t number, const std::function<void()>& stops, const std::function<void()>& body);
    /// Runs `body`, from within `launch`, where all in front are done; true where it says that the call is over.
    bool attempt(uint64_t number, const std::function<bool()>& body);
    bool is_idle();

  private:
    void finish();

    std::mutex issuing_;
    std::mutex mutex_;
    std::condition_variable finished_;
    uint64_t issued_ = 0;
    uint64_t done_ = 0;
};

class Communicator {
  public:
    /// Waits for no other rank, so that a process can make its communicators in any order; what needs a rank waits for
    /// it. Throws std::runtime_error.
    Communicator(const std::string& name, int nranks, int rank, const Faults& faults);

    const std::string& name() const { return name_; }
    int rank() const { return rank_; }
    int nranks() const { return nranks_; }

    /// The collectives, and the messages to or from a peer, each in their own order.
    Line& collectives() { return collectives_; }
    Line& sends(int peer);
    Line& receives(int peer);

    /// Whether all ranks have made it.
    bool is_complete() const;

    /// What is in flight fails from now on, here and on other ranks.
    void close();
    Status error();
    /// Runs a call in its turn; a failure is noted for all, and thrown on.
    void run(Line* line, const Operation& operation, const std::function<void()>& body);

    /// Runs a collective of one round on the thread that issues it, where nothing is in front of it. It waits for the
    /// other ranks for some microseconds; false where they are late: `run` goes on with the call then. A failure is
    /// noted as in `run`.
    bool attempt(Line* line, const Operation& operation, const std::function<void()>& body);

    // ---- within run ----

    /// Ends the communicator for all ranks: throws, here and in what they wait for.
    [[noreturn]] void fail(const std::string& text);

    using Fill = std::function<std::size_t(char* chunk)>;  ///< writes what the rank publishes; how many bytes
    using Use = std::function<void(int rank, const char* chunk, std::size_t bytes)>;
    /// Publishes a round.
    void post(const Operation& operation, const Fill& fill);
    /// Waits for the round of a rank, and checks that it belongs to the same call. Each rank reads each round of its
    /// own call before it posts the next one.
    const Round& await(const Operation& operation, int rank);
    const char* chunk_of(int rank) const { return segment_->chunk(rank, round_); }

    void send_round(const Operation& operation, int peer, const void* from, std::size_t bytes);
    void receive_round(const Operation& operation, int peer, void* to, std::size_t bytes);

  private:
    using Clock = std::chrono::steady_clock;
    void stop() const;
    /// Runs `body`; a failure is noted, and thrown on.
    void noting(const std::function<void()>& body);
    void wait_for(Counter* counter, uint32_t value, int rank, const char* what,
                  std::optional<Clock::time_point> attempt_end = std::nullopt);
    void start_round(uint64_t round) const;
    void note(const std::string& text);
    void wake_everybody();
    void check_same(const Operation& own, const Round& other, int rank);
    Round describe(const Operation& operation, const char* data, std::size_t bytes) const;
    Line& line(std::map<int, Line>* lines, int peer);

    const std::string name_;
    const int nranks_;
    const int rank_;
    const Faults faults_;
    std::unique_ptr<Segment> segment_;
    Line collectives_;
    std::mutex mutex_;
    std::map<int, Line> sends_;
    std::map<int, Line> receives_;
    std::string error_;
    std::atomic<bool> closed_{false};
    std::atomic<uint64_t> operations_{0};
    uint32_t round_ = 0;
    std::optional<Clock::time_point> attempt_end_;  ///< when waits of an attempt give up
    uint64_t between_attempts_ = 1;
    bool has_posted_ = false;  ///< an attempt has published the round of the call
};

/// "AllReduce of 4 float32 (sum)".
std::string describe(Kind kind, int64_t count, int32_t dtype, int32_t op, int32_t root);

}  // namespace diopigen::sim::fabric

#endif  // DIOPIGEN_SIM_SRC_FABRIC_COMMUNICATOR_H_
