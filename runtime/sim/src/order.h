// Which uses of memory are ordered, by vector clocks: a missing synchronisation is found whether or not it does harm
// in this run.
#ifndef DIOPIGEN_SIM_SRC_ORDER_H_
#define DIOPIGEN_SIM_SRC_ORDER_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace diopigen::sim {

/// How far each stream is known to have come; the position is the stream's number.
using Clock = std::vector<uint64_t>;

/// A use of bytes [first, last) of an allocation.
struct MemoryAccess {
    uint64_t allocation = 0;  ///< its index
    uint64_t first = 0;
    uint64_t last = 0;
    bool write = false;
};

/// Work on another stream that used the same bytes, and that nothing orders before the work at hand.
struct Unordered {
    MemoryAccess mine;
    std::string name;
    int stream = 0;
    bool write = false;
};

/// All threads of the host count as one: what one of them has waited for, all know. So threads that synchronise by
/// means that this cannot see are never reported wrongly.
class OrderCheck {
  public:
    /// The next work of a stream. The first conflict with earlier work, if there is one.
    std::optional<Unordered> begin(int stream, const std::string& name, const std::vector<MemoryAccess>& accesses);

    /// What is known behind all work that the stream has now: taken before waiting, handed to host_waited() after it,
    /// or kept in an event.
    Clock snapshot(int stream);
    void host_waited(const Clock& clock);
    void stream_waits(int stream, const Clock& clock);

    /// The allocation ends. Work that used it and that the host has not waited for, if there is some.
    std::optional<Unordered> freed(uint64_t allocation);

  private:
    struct Past {
        uint64_t first;
        uint64_t last;
        bool write;
        int stream;
        uint64_t time;
        std::string name;
    };

    Clock& clock_of(int stream);

    std::mutex mutex_;
    Clock host_;
    std::vector<Clock> streams_;
    std::unordered_map<uint64_t, std::vector<Past>> past_;
};

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_ORDER_H_
