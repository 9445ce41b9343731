// Faults of the fabric that the environment switches on, and how long it waits.
#ifndef DIOPIGEN_SIM_SRC_FABRIC_FAULTS_H_
#define DIOPIGEN_SIM_SRC_FABRIC_FAULTS_H_

#include <diopigen_sim/status.h>

#include <cstdint>
#include <string>

namespace diopigen::sim::fabric {

struct Faults {
    int64_t timeout_milliseconds = 86'400'000;            ///< a day: a host with a limit ends the communicator
    bool check_sums = false;                              ///< messages carry check sums
    uint64_t delay_seed = 0, delay_microseconds = 0;      ///< each round starts up to that much late
    uint64_t reorder_seed = 0, reorder_microseconds = 0;  ///< each operation, by communicator
    int slow_rank = -1;
    uint64_t slow_microseconds = 0;
    int dead_rank = -1;
    uint64_t dead_operation = 0;  ///< the rank ends in front of it
    int torn_rank = -1;
    uint64_t torn_operation = 0;  ///< half of what the rank publishes in it is not written

    /// Whether calls are to be disturbed.
    bool any() const {
        return delay_microseconds != 0 || reorder_microseconds != 0 || slow_rank >= 0 || dead_rank >= 0 ||
               torn_rank >= 0;
    }
};

/// Reads DIOPI_SIM_FABRIC_...; the text of a failure names the variable, its value, and what it may be.
Status read_faults(Faults* faults);

/// A number below `limit` that follows from the others.
uint64_t random_below(uint64_t limit, uint64_t seed, uint64_t first, uint64_t second);
void sleep_microseconds(uint64_t microseconds);

}  // namespace diopigen::sim::fabric

#endif  // DIOPIGEN_SIM_SRC_FABRIC_FAULTS_H_
