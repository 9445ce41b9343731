#include "faults.h"

#include <diopigen/environment.h>

#include <chrono>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <thread>

namespace diopigen::sim::fabric {
namespace {

constexpr uint64_t kLongest = 10'000'000;  // microseconds of a delay

/// The number that all of `text` is; false for any other text.
bool number(const std::string& text, uint64_t* value) {
    if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos) {
        return false;
    }
    *value = std::strtoull(text.c_str(), nullptr, 10);
    return true;
}

bool read_fault(const std::string& text, Faults* faults) {
    const std::size_t equals = text.find('=');
    const std::size_t colon = text.find(':');
    if (equals == std::string::npos || colon == std::string::npos || colon < equals) {
        return false;
    }
    const std::string kind = text.substr(0, equals);
    uint64_t first = 0;
    uint64_t second = 0;
    if (!number(text.substr(equals + 1, colon - equals - 1), &first) || !number(text.substr(colon + 1), &second)) {
        return false;
    }
    const bool is_rank = first <= static_cast<uint64_t>(std::numeric_limits<int>::max());
    if (kind == "delay" && second <= kLongest) {
        faults->delay_seed = first;
        faults->delay_microseconds = second;
        return true;
    }
    if (kind == "reorder" && second <= kLongest) {
        faults->reorder_seed = first;
        faults->reorder_microseconds = second;
        return true;
    }
    if (kind == "slow" && is_rank && second <= kLongest) {
        faults->slow_rank = static_cast<int>(first);
        faults->slow_microseconds = second;
        return true;
    }
    if (kind == "dead" && is_rank) {
        faults->dead_rank = static_cast<int>(first);
        faults->dead_operation = second;
        return true;
    }
    if (kind == "torn" && is_rank) {
        faults->torn_rank = static_cast<int>(first);
        faults->torn_operation = second;
        faults->check_sums = true;
        return true;
    }
    return false;
}

}  // namespace

Status read_faults(Faults* faults) {
    for (const char* name : {"DIOPI_SIM_FABRIC_TIMEOUT", "DIOPI_SIM_FABRIC_CHECK"}) {
        if (const std::string fault = environment::fault(name); !fault.empty()) {
            return {Code::invalidArgument, fault};
        }
    }
    faults->timeout_milliseconds = environment::number("DIOPI_SIM_FABRIC_TIMEOUT", faults->timeout_milliseconds);
    faults->check_sums = environment::text("DIOPI_SIM_FABRIC_CHECK") == "1";
    if (const std::string value = environment::text("DIOPI_SIM_FABRIC_FAULT"); !value.empty()) {
        std::istringstream list(value);
        for (std::string text; std::getline(list, text, ',');) {
            if (!read_fault(text, faults)) {
                return {Code::invalidArgument,
                        "DIOPI_SIM_FABRIC_FAULT is '" + value +
                            "': a list of delay=SEED:MICROSECONDS, reorder=SEED:MICROSECONDS, slow=RANK:MICROSECONDS, "
                            "dead=RANK:OPERATION, torn=RANK:OPERATION, with at most 10000000 microseconds is possible"};
            }
        }
    }
    return {};
}

uint64_t random_below(uint64_t limit, uint64_t seed, uint64_t first, uint64_t second) {
    uint64_t state = seed * 0x9E3779B97F4A7C15u + first;  // splitmix64
    for (const uint64_t next : {second, uint64_t{0}}) {
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
        state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
        state = (state ^ (state >> 31)) + next;
    }
    return limit == 0 ? 0 : state % limit;
}

void sleep_microseconds(uint64_t microseconds) {
    if (microseconds > 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    }
}

}  // namespace diopigen::sim::fabric
