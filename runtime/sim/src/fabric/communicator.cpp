#include "communicator.h"

#include <diopigen/dtypes.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "reduce.h"

namespace diopigen::sim::fabric {
namespace {

// How long a wait sleeps before it looks after the other ranks: a rank that ends wakes no other.
constexpr int64_t kLook = 50'000'000;
// A waker that is about to be there is cheaper to wait for than to be woken by.
constexpr auto kSpin = std::chrono::microseconds(20);
// How long a call keeps the thread that issues it. Ranks that an attempt has left out of step, by as much as it takes
// to wake threads, come together in a longer one.
constexpr auto kAttempt = std::chrono::microseconds(50);
constexpr auto kLongAttempt = std::chrono::microseconds(200);
// Where attempts fail, ranks are apart, or share a processor and keep each other from coming: one call in so many
// tries.
constexpr uint64_t kMostBetweenAttempts = 64;
// The first round of each rank is that of its arrival.
constexpr uint32_t kArrival = 1;
// What a rank is waited for to do.
constexpr char kArrive[] = "make the communicator";
constexpr char kTakePart[] = "take part in a collective";

/// What ends an attempt.
struct Late {};

const char* name_of(Kind kind) {
    static const char* const names[] = {
        "AllReduce", "Broadcast", "AllGather", "Reduce", "ReduceScatter", "AllToAllEqualSplit", "AllToAllUnequalSplit",
        "Send"};
    return kind >= Kind::kAllReduce && kind <= Kind::kSend ? names[static_cast<int>(kind)] : "an unknown call";
}

uint64_t sum_of(const char* data, std::size_t bytes) {
    uint64_t sum = 0xCBF29CE484222325u + bytes;  // FNV-1a over words
    for (std::size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, data + at, std::min(sizeof(word), bytes - at));
        sum = (sum ^ word) * 0x100000001B3u;
    }
    return sum;
}

bool is_reached(uint32_t value, uint32_t expected) { return static_cast<int32_t>(value - expected) >= 0; }

}  // namespace

std::string describe(Kind kind, int64_t count, int32_t dtype, int32_t op, int32_t root) {
    std::string text = name_of(kind);
    if (count >= 0) {
        text += " of " + std::to_string(count) + " " + dtype_name(static_cast<diopiDtype_t>(dtype));
    }
    if (op >= 0) {
        const char* const name = name_of(static_cast<diopiReduceOp_t>(op));
        text += std::string(" (") + (name == nullptr ? "an unknown operation" : name) + ")";
    }
    return root >= 0 ? text + ", root " + std::to_string(root) : text;
}

Status Line::issue(const std::function<Status(uint64_t)>& launch) {
    const std::lock_guard<std::mutex> lock(issuing_);
    const Status status = launch(issued_);
    if (status.ok()) {
        const std::lock_guard<std::mutex> counters(mutex_);
        ++issued_;
    }
    return status;
}

void Line::run(uint64_t number, const std::function<void()>& stops, const std::function<void()>& body) {
    {
        std::unique_lock<std::mutex> lock(mutex_);
        while (done_ != number) {
            finished_.wait_for(lock, std::chrono::nanoseconds(kLook));
            if (done_ != number) {
                lock.unlock();
                stops();
                lock.lock();
            }
        }
    }
    struct Next {
        Line* line;
        ~Next() { line->finish(); }
    } next{this};
    body();
}

bool Line::attempt(uint64_t number, const std::function<bool()>& body) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (done_ != number) {
            return false;
        }
    }
    try {
        if (!body()) {
            return false;
        }
    } catch (...) {
        finish();
        throw;
    }
    finish();
    return true;
}

void Line::finish() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++done_;
    finished_.notify_all();
}

bool Line::is_idle() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return issued_ == done_;
}

Communicator::Communicator(const std::string& name, int nranks, int rank, const Faults& faults)
    : name_(name), nranks_(nranks), rank_(rank), faults_(faults), segment_(new Segment(name, nranks, rank)) {
    Head& head = segment_->head();
    uint32_t none = 0;
    const auto own = static_cast<uint32_t>(nranks_);
    if (!head.nranks.compare_exchange_strong(none, own) && none != own) {
        fail("rank " + std::to_string(rank_) + " says that there are " + std::to_string(nranks_) +
             " ranks, others that there are " + std::to_string(none));
    }
    Member& member = segment_->member(rank_);
    member.attached.store(1);
    publish(&member.posted, kArrival);
    round_ = kArrival;
}

Line& Communicator::line(std::map<int, Line>* lines, int peer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return (*lines)[peer];
}

Line& Communicator::sends(int peer) { return line(&sends_, peer); }
Line& Communicator::receives(int peer) { return line(&receives_, peer); }

bool Communicator::is_complete() const {
    for (int rank = 0; rank < nranks_; ++rank) {
        if (segment_->member(rank).attached.load() == 0) {
            return false;
        }
    }
    return true;
}

void Communicator::close() {
    closed_ = true;
    bool is_idle = collectives_.is_idle();
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (std::map<int, Line>* lines : {&sends_, &receives_}) {
            for (auto& entry : *lines) {
                is_idle = entry.second.is_idle() && is_idle;
            }
        }
    }
    if (!is_idle) {
        note("rank " + std::to_string(rank_) + " destroyed the communicator before its work was done");
    }
    segment_->member(rank_).left.store(1);
    wake_everybody();
}

Status Communicator::error() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_.empty()) {
        return {Code::kernelFailed, error_};
    }
    const Head& head = segment_->head();
    return head.failed.load() == 2 ? Status(Code::kernelFailed, "communicator " + name_ + ": " + head.failure)
                                   : Status();
}

void Communicator::run(Line* line, const Operation& operation, const std::function<void()>& body) {
    const auto guarded = [&] {
        const uint64_t number = operations_.fetch_add(1);
        if (rank_ == faults_.dead_rank && number == faults_.dead_operation) {
            kill(getpid(), SIGKILL);
        }
        sleep_microseconds(random_below(faults_.reorder_microseconds, faults_.reorder_seed,
                                        sum_of(name_.data(), name_.size()), number));
        stop();
        body();
    };
    noting([&] { line->run(operation.number, [this] { stop(); }, guarded); });
}

bool Communicator::attempt(Line* line, const Operation& operation, const std::function<void()>& body) {
    // More ranks than processors: those that wait would keep the others from coming.
    static const unsigned processors = std::thread::hardware_concurrency();
    if (faults_.any() || static_cast<unsigned>(nranks_) > processors) {
        return false;
    }
    bool is_done = false;
    noting([&] {
        is_done = line->attempt(operation.number, [&] {
            if (operation.number % between_attempts_ != 0) {  // by the number: ranks try at the same calls
                return false;
            }
            stop();
            attempt_end_ = Clock::now() + (between_attempts_ == 1 ? kAttempt : kLongAttempt);
            struct Reset {
                std::optional<Clock::time_point>* end;
                ~Reset() { end->reset(); }
            } reset{&attempt_end_};
            try {
                body();
            } catch (const Late&) {
                between_attempts_ = std::min(2 * between_attempts_, kMostBetweenAttempts);
                return false;
            }
            between_attempts_ = 1;
            has_posted_ = false;
            return true;
        });
    });
    return is_done;
}

void Communicator::noting(const std::function<void()>& body) {
    try {
        body();
    } catch (const std::exception& failure) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (error_.empty()) {
            error_ = failure.what();
        }
        throw;
    }
}

void Communicator::note(const std::string& text) {
    Head& head = segment_->head();
    uint32_t none = 0;
    if (head.failed.compare_exchange_strong(none, 1)) {
        std::strncpy(head.failure, text.c_str(), sizeof(head.failure) - 1);
        head.failed.store(2);
    }
    wake_everybody();
}

void Communicator::fail(const std::string& text) {
    note(text);
    throw std::runtime_error("communicator " + name_ + ": " + text);
}

void Communicator::wake_everybody() {
    for (int rank = 0; rank < nranks_; ++rank) {
        wake_all(&segment_->member(rank).posted);
        for (int other = 0; other < nranks_; ++other) {
            wake_all(&segment_->channel(rank, other).posted);
            wake_all(&segment_->channel(rank, other).taken);
        }
    }
}

void Communicator::stop() const {
    const Head& head = segment_->head();
    if (head.failed.load() == 2) {
        throw std::runtime_error("communicator " + name_ + ": " + head.failure);
    }
    if (closed_) {
        throw std::runtime_error("communicator " + name_ + " was destroyed");
    }
}

void Communicator::wait_for(Counter* counter, uint32_t value, int rank, const char* what,
                            std::optional<Clock::time_point> attempt_end) {
    if (is_reached(counter->value.load(), value)) {
        return;
    }
    const Clock::time_point start = Clock::now();
    const Clock::time_point spin_end = attempt_end.value_or(start + kSpin);
    while (Clock::now() < spin_end) {
        if (is_reached(counter->value.load(), value)) {
            return;
        }
    }
    if (attempt_end) {
        throw Late();
    }
    const Clock::time_point end = start + std::chrono::milliseconds(faults_.timeout_milliseconds);
    while (true) {
        // In this order: what a rank published before it ended counts.
        const bool has_attached = segment_->member(rank).attached.load() != 0;
        const bool is_gone = has_attached && !segment_->is_alive(rank);
        const bool has_left = segment_->member(rank).left.load() != 0;
        const uint32_t seen = counter->value.load();
        if (is_reached(seen, value)) {
            return;
        }
        stop();
        const std::string who = "rank " + std::to_string(rank);
        if (has_left) {
            fail(who + " has destroyed the communicator, and rank " + std::to_string(rank_) + " waits for it to " +
                 what);
        }
        if (is_gone) {
            fail("the process of " + who + " has ended, and rank " + std::to_string(rank_) + " waits for it to " +
                 what);
        }
        const Clock::time_point now = Clock::now();
        if (now >= end) {
            fail(who + " did not " + what + " within " + std::to_string(faults_.timeout_milliseconds) +
                 " ms, which rank " + std::to_string(rank_) + " has waited for");
        }
        const int64_t left = std::chrono::duration_cast<std::chrono::nanoseconds>(end - now).count();
        sleep_while(counter, seen, std::min(left, kLook));
    }
}

void Communicator::start_round(uint64_t round) const {
    sleep_microseconds(random_below(faults_.delay_microseconds, faults_.delay_seed + static_cast<uint64_t>(rank_),
                                    sum_of(name_.data(), name_.size()), round));
    if (rank_ == faults_.slow_rank) {
        sleep_microseconds(faults_.slow_microseconds);
    }
}

Round Communicator::describe(const Operation& operation, const char* data, std::size_t bytes) const {
    const uint64_t sum = faults_.check_sums ? sum_of(data, bytes) : 0;
    return {operation.number,
            static_cast<int32_t>(operation.kind),
            operation.dtype,
            operation.op,
            operation.root,
            operation.count,
            bytes,
            sum};
}

void Communicator::check_same(const Operation& own, const Round& other, int rank) {
    const bool isSame = own.number == other.operation && static_cast<int32_t>(own.kind) == other.kind &&
                        own.dtype == other.dtype && own.op == other.op && own.root == other.root &&
                        own.count == other.count;
    if (!isSame) {
        fail("ranks call different things: rank " + std::to_string(rank_) + " " +
             fabric::describe(own.kind, own.count, own.dtype, own.op, own.root) + " as number " +
             std::to_string(own.number) + ", rank " + std::to_string(rank) + " " +
             fabric::describe(static_cast<Kind>(other.kind), other.count, other.dtype, other.op, other.root) +
             " as number " + std::to_string(other.operation));
    }
}

void Communicator::post(const Operation& operation, const Fill& fill) {
    if (has_posted_) {
        has_posted_ = false;
        return;
    }
    for (int rank = 0; rank < nranks_; ++rank) {  // who has posted the last round has read the one before
        wait_for(&segment_->member(rank).posted, round_, rank, round_ == kArrival ? kArrive : kTakePart, attempt_end_);
    }
    ++round_;
    start_round(round_);
    char* const chunk = segment_->chunk(rank_, round_);
    const std::size_t bytes = fill(chunk);
    Member& member = segment_->member(rank_);
    member.rounds[round_ % kSlots] = describe(operation, chunk, bytes);
    if (rank_ == faults_.torn_rank && operation.number == faults_.torn_operation) {
        std::memset(chunk + bytes / 2, 0xFB, bytes - bytes / 2);
    }
    publish(&member.posted, round_);
    has_posted_ = attempt_end_.has_value();
}

const Round& Communicator::await(const Operation& operation, int rank) {
    Member& member = segment_->member(rank);
    wait_for(&member.posted, round_, rank, kTakePart, attempt_end_);
    const Round& round = member.rounds[round_ % kSlots];
    check_same(operation, round, rank);
    if (faults_.check_sums && sum_of(chunk_of(rank), round.bytes) != round.sum) {
        fail("a message of rank " + std::to_string(rank) + " is torn: its check sum differs");
    }
    return round;
}

void Communicator::send_round(const Operation& operation, int peer, const void* from, std::size_t bytes) {
    Channel& channel = segment_->channel(rank_, peer);
    const uint32_t round = channel.posted.value.load() + 1;
    // A rank that has sent may end: who receives has the memory by then.
    if (Member& member = segment_->member(peer); member.attached.load() == 0) {
        wait_for(&member.posted, kArrival, peer, kArrive);
    }
    wait_for(&channel.taken, round - kSlots, peer, "receive");
    start_round(round);
    char* const message = segment_->message(rank_, peer, round);
    if (bytes > 0) {
        std::memcpy(message, from, bytes);
    }
    channel.rounds[round % kSlots] = describe(operation, message, bytes);
    if (rank_ == faults_.torn_rank && operation.number == faults_.torn_operation) {
        std::memset(message + bytes / 2, 0xFB, bytes - bytes / 2);
    }
    publish(&channel.posted, round);
}

void Communicator::receive_round(const Operation& operation, int peer, void* to, std::size_t bytes) {
    Channel& channel = segment_->channel(peer, rank_);
    const uint32_t round = channel.taken.value.load() + 1;
    wait_for(&channel.posted, round, peer, "send");
    const Round& received = channel.rounds[round % kSlots];
    check_same(operation, received, peer);
    const char* const message = segment_->message(peer, rank_, round);
    if (faults_.check_sums && sum_of(message, received.bytes) != received.sum) {
        fail("a message of rank " + std::to_string(peer) + " is torn: its check sum differs");
    }
    if (bytes > 0) {
        std::memcpy(to, message, bytes);
    }
    publish(&channel.taken, round);
}

}  // namespace diopigen::sim::fabric
