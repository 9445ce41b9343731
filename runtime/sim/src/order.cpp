#include "order.h"

#include <algorithm>

namespace diopigen::sim {
namespace {

void join(Clock* clock, const Clock& other) {
    clock->resize(std::max(clock->size(), other.size()));
    for (std::size_t i = 0; i < other.size(); ++i) {
        (*clock)[i] = std::max((*clock)[i], other[i]);
    }
}

bool covers(const Clock& clock, int stream, uint64_t time) {
    const auto position = static_cast<std::size_t>(stream);
    return position < clock.size() && clock[position] >= time;
}

}  // namespace

Clock& OrderCheck::clock_of(int stream) {
    const auto position = static_cast<std::size_t>(stream);
    if (streams_.size() <= position) {
        streams_.resize(position + 1);
    }
    Clock& clock = streams_[position];
    clock.resize(std::max(clock.size(), position + 1));
    return clock;
}

std::optional<Unordered> OrderCheck::begin(int stream, const std::string& name,
                                           const std::vector<MemoryAccess>& accesses) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Clock& clock = clock_of(stream);
    join(&clock, host_);  // the host queues this after all that it has waited for
    const uint64_t now = ++clock[static_cast<std::size_t>(stream)];
    std::optional<Unordered> conflict;
    for (const MemoryAccess& mine : accesses) {
        if (mine.first == mine.last) {
            continue;
        }
        std::vector<Past>& past = past_[mine.allocation];
        for (const Past& one : past) {
            const bool meets = one.first < mine.last && mine.first < one.last && (one.write || mine.write);
            if (meets && !conflict && !covers(clock, one.stream, one.time)) {
                conflict = Unordered{mine, one.name, one.stream, one.write};
            }
        }
        // What this use covers and follows, no later work can conflict with unless it conflicts with this one too.
        const auto implied = [&](const Past& one) {
            return one.first >= mine.first && one.last <= mine.last && (mine.write || !one.write) &&
                   covers(clock, one.stream, one.time);
        };
        past.erase(std::remove_if(past.begin(), past.end(), implied), past.end());
        past.push_back({mine.first, mine.last, mine.write, stream, now, name});
    }
    return conflict;
}

Clock OrderCheck::snapshot(int stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return clock_of(stream);
}

void OrderCheck::host_waited(const Clock& clock) {
    const std::lock_guard<std::mutex> lock(mutex_);
    join(&host_, clock);
}

void OrderCheck::stream_waits(int stream, const Clock& clock) {
    const std::lock_guard<std::mutex> lock(mutex_);
    join(&clock_of(stream), clock);
}

std::optional<Unordered> OrderCheck::freed(uint64_t allocation) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::optional<Unordered> conflict;
    if (const auto found = past_.find(allocation); found != past_.end()) {
        for (const Past& one : found->second) {
            if (!conflict && !covers(host_, one.stream, one.time)) {
                conflict = Unordered{{allocation, one.first, one.last, true}, one.name, one.stream, one.write};
            }
        }
        past_.erase(found);
    }
    return conflict;
}

}  // namespace diopigen::sim
