// The shared memory of one communicator: who is there, what each rank has published, and the messages.
#ifndef DIOPIGEN_SIM_SRC_FABRIC_SEGMENT_H_
#define DIOPIGEN_SIM_SRC_FABRIC_SEGMENT_H_

#include <diopi/functions_collective.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace diopigen::sim::fabric {

constexpr int kMaxRanks = 64;
constexpr std::size_t kChunk = 512 * 1024;   ///< bytes that a rank publishes in one round of a collective
constexpr std::size_t kMessage = 64 * 1024;  ///< bytes of one round of a send
constexpr int kSlots = 2;                    ///< a rank writes one round while the others read the one before

/// What a rank publishes with a round, so that ranks whose calls differ are told.
struct Round {
    uint64_t operation;  ///< position of the call among those of the communicator, or of the pair of ranks
    int32_t kind;        ///< `Kind` of communicator.h
    int32_t dtype;
    int32_t op;
    int32_t root;
    int64_t count;   ///< elements of the call; of unequal splits those of the longest message
    uint64_t bytes;  ///< of this round
    uint64_t sum;    ///< check sum of them, where sums are on
};

/// A counter that processes wait for without spinning.
struct Counter {
    std::atomic<uint32_t> value;
    std::atomic<uint32_t> waiters;
};

/// Rounds of one sender, with its counters on cache lines of their own.
struct alignas(64) Member {
    std::atomic<uint32_t> attached;
    std::atomic<uint32_t> left;  ///< it has destroyed its communicator
    alignas(64) Counter posted;
    Round rounds[kSlots];
};
struct alignas(64) Channel {
    Counter posted;
    alignas(64) Counter taken;
    Round rounds[kSlots];
};

struct Head {
    std::atomic<uint32_t> attached;
    std::atomic<uint32_t> nranks;
    std::atomic<uint32_t> failed;  ///< 0; 1 while the text is written; 2
    char failure[256];
    Member members[kMaxRanks];
};
static_assert(std::atomic<uint32_t>::is_always_lock_free, "other processes must not wait for a lock of this one");

/// The memory of a communicator, before any rank has mapped it: a file without a name, which the process that makes the
/// id has open, and which the others open through /proc. It is gone when no process has it open or mapped any more,
/// however they end.
class SegmentFile {
  public:
    /// Throws std::runtime_error. `random` makes the id unique, and has only letters and digits.
    explicit SegmentFile(const std::string& random);
    ~SegmentFile();
    SegmentFile(const SegmentFile&) = delete;
    SegmentFile& operator=(const SegmentFile&) = delete;

    /// The id: "diopi-RANDOM-PROCESS-FILE".
    const std::string& name() const { return name_; }

  private:
    std::string name_;
    int file_ = -1;
};

/// A mapping of the segment. Its memory is zero at first, which is the initial state of everything in it.
class Segment {
  public:
    /// Opens the segment of this id; throws std::runtime_error.
    Segment(const std::string& name, int nranks, int rank);
    ~Segment();
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;

    Head& head() const { return *static_cast<Head*>(memory_); }
    Member& member(int rank) const { return head().members[rank]; }
    char* chunk(int rank, uint32_t round) const;
    Channel& channel(int from, int to) const;
    char* message(int from, int to, uint32_t round) const;

    /// Whether the process of a rank is there and has not closed its segment. The kernel releases the lock that this
    /// asks for at the end of a process, however it ends.
    bool is_alive(int rank) const;
    /// Releases the lock: to others the rank is gone.
    void leave();

  private:
    int nranks_;
    int rank_;
    int file_ = -1;
    std::size_t bytes_ = 0;
    void* memory_ = nullptr;
};

/// Sleeps until the counter has another value than `seen`, for at most this long; it may wake early.
void sleep_while(Counter* counter, uint32_t seen, int64_t nanoseconds);
/// Stores a value and wakes all who wait.
void publish(Counter* counter, uint32_t value);
void wake_all(Counter* counter);

}  // namespace diopigen::sim::fabric

#endif  // DIOPIGEN_SIM_SRC_FABRIC_SEGMENT_H_
