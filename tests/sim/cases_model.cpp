// Random programs against models that are too slow and too simple to be wrong.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "../../runtime/sim/src/order.h"
#include "sim_test.h"

namespace {

int below(std::mt19937_64& random, int bound) { return static_cast<int>(random() % static_cast<uint64_t>(bound)); }

/// Work and waits as nodes of a graph; one node is before another if a path leads there.
class Graph {
  public:
    int add(const std::vector<int>& before) {
        nodes_.emplace_back();
        for (const int node : before) {
            if (node >= 0) {
                nodes_.back().insert(node);
                const std::set<int>& all = nodes_[static_cast<std::size_t>(node)];
                nodes_.back().insert(all.begin(), all.end());
            }
        }
        return static_cast<int>(nodes_.size()) - 1;
    }
    bool is_before(int one, int other) const { return nodes_[static_cast<std::size_t>(other)].count(one) > 0; }

  private:
    std::vector<std::set<int>> nodes_;
};

struct Use {
    sim::MemoryAccess access;
    int node;
};

bool meet(const sim::MemoryAccess& a, const sim::MemoryAccess& b) {
    const bool shared = std::max(a.first, b.first) < std::min(a.last, b.last);
    return shared && a.allocation == b.allocation && (a.write || b.write);
}

}  // namespace

TEST_CASE("the_order_check_agrees_with_reachability") {
    constexpr int kStreams = 3;
    constexpr int kEvents = 3;
    int conflicts = 0;
    int ordered = 0;
    for (uint64_t seed = 0; seed < 300; ++seed) {
        std::mt19937_64 random(seed);
        sim::OrderCheck check;
        Graph graph;
        std::vector<int> streams(kStreams, -1);  // the last node of each
        std::vector<int> events(kEvents, -1);
        std::vector<sim::Clock> clocks(kEvents);
        int host = -1;
        std::vector<Use> uses;
        for (int step = 0; step < 60; ++step) {
            const int stream = below(random, kStreams);
            const auto s = static_cast<std::size_t>(stream);
            const auto e = static_cast<std::size_t>(below(random, kEvents));
            switch (below(random, 8)) {
                case 0:  // the host waits for a stream
                    check.host_waited(check.snapshot(stream));
                    host = graph.add({host, streams[s]});
                    break;
                case 1:
                    clocks[e] = check.snapshot(stream);
                    events[e] = streams[s];
                    break;
                case 2:
                    check.stream_waits(stream, clocks[e]);
                    streams[s] = graph.add({streams[s], events[e]});
                    break;
                case 3:
                    check.host_waited(clocks[e]);
                    host = graph.add({host, events[e]});
                    break;
                default: {
                    const auto first = static_cast<uint64_t>(below(random, 6));
                    const auto last = first + static_cast<uint64_t>(below(random, 4));
                    const sim::MemoryAccess mine{static_cast<uint64_t>(below(random, 2)), first, last,
                                                 below(random, 2) == 0};
                    const int node = graph.add({streams[s], host});
                    streams[s] = node;
                    bool wanted = false;
                    for (const Use& use : uses) {
                        wanted = wanted || (meet(use.access, mine) && !graph.is_before(use.node, node));
                    }
                    CHECK_EQ(check.begin(stream, "work", {mine}).has_value(), wanted);
                    ++(wanted ? conflicts : ordered);
                    uses.push_back({mine, node});
                }
            }
        }
        for (uint64_t allocation = 0; allocation < 2; ++allocation) {
            const int now = graph.add({host});
            bool wanted = false;
            for (const Use& use : uses) {
                const bool isUse = use.access.allocation == allocation && use.access.first < use.access.last;
                wanted = wanted || (isUse && !graph.is_before(use.node, now));
            }
            CHECK_EQ(check.freed(allocation).has_value(), wanted);
            CHECK(!check.freed(allocation).has_value());
        }
    }
    CHECK(conflicts > 1000);
    CHECK(ordered > 1000);  // both kinds came up often enough to mean something
}

// With DIOPI_SIM_MEMORY=64K, with and without the memory check.
TEST_CASE("random_allocations_never_overlap") {
    constexpr uint64_t kLimit = 64 * 1024;
    std::mt19937_64 random(5);
    std::map<uintptr_t, uint64_t> live;  // start to rounded size
    uint64_t bytes = 0;
    int refused = 0;
    for (int step = 0; step < 4000; ++step) {
        if (live.empty() || below(random, 5) > 1) {
            const auto wanted = static_cast<uint64_t>(below(random, below(random, 4) == 0 ? 40000 : 3000));
            const uint64_t size = std::max<uint64_t>((wanted + 511) / 512 * 512, 512);
            void* pointer = nullptr;
            const sim::Status status = sim::allocate(0, wanted, &pointer);
            if (!status.ok()) {
                CHECK(status.code() == sim::Code::outOfMemory);
                ++refused;
                continue;
            }
            const auto start = reinterpret_cast<uintptr_t>(pointer);
            CHECK(start % 512 == 0);
            CHECK(bytes + size <= kLimit);
            const auto next = live.lower_bound(start);
            CHECK((next == live.end() || start + size <= next->first));
            CHECK((next == live.begin() || std::prev(next)->first + std::prev(next)->second <= start));
            live.emplace(start, size);
            bytes += size;
        } else {
            const auto chosen = std::next(live.begin(), below(random, static_cast<int>(live.size())));
            CHECK_OK(sim::release(reinterpret_cast<void*>(chosen->first)));
            bytes -= chosen->second;
            live.erase(chosen);
        }
        sim::MemoryUse use;
        CHECK_OK(sim::memoryUse(0, &use));
        CHECK_EQ(use.liveBytes, bytes);
        CHECK_EQ(use.liveAllocations, live.size());
        CHECK((use.liveBytes + use.cachedBytes <= kLimit || use.cachedBytes == 0));
    }
    CHECK(refused > 50);
    for (const auto& entry : live) {
        CHECK_OK(sim::release(reinterpret_cast<void*>(entry.first)));
    }
    void* whole = nullptr;
    CHECK_OK(sim::allocate(0, kLimit, &whole));  // nothing was lost between the pieces
    CHECK_OK(sim::release(whole));
}
