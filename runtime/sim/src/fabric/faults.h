// Faults of the fabric that the environment switches on, and how long it waits.
#ifndef DIOPIGEN_SIM_SRC_FABRIC_FAULTS_H_
#define DIOPIGEN_SIM_SRC_FABRIC_FAULTS_H_

#include <diopigen_sim/status.h>

#include <cstdint>
#include <string>

namespace diopigen::sim::fabric {

struct Faults {
    int64_t timeoutMilliseconds = 86'400'000;           ///< a day: a host with a limit ends the communicator
    bool checkSums = false;                             ///< messages carry check sums
    uint64_t delaySeed = 0, delayMicroseconds = 0;      ///< each round starts up to that much late
    uint64_t reorderSeed = 0, reorderMicroseconds = 0;  ///< each operation, by communicator
    int slowRank = -1;
    uint64_t slowMicroseconds = 0;
    int deadRank = -1;
    uint64_t deadOperation = 0;  ///< the rank ends in front of it
    int tornRank = -1;
    uint64_t tornOperation = 0;  ///< half of what the rank publishes in it is not written

    /// Whether calls are to be disturbed.
    bool any() const {
        return delayMicroseconds != 0 || reorderMicroseconds != 0 || slowRank >= 0 || deadRank >= 0 || tornRank >= 0;
    }
};

/// Reads DIOPI_SIM_FABRIC_...; the text of a failure names the variable, its value, and what it may be.
Status readFaults(Faults* faults);

/// A number below `limit` that follows from the others.
uint64_t randomBelow(uint64_t limit, uint64_t seed, uint64_t first, uint64_t second);
void sleepMicroseconds(uint64_t microseconds);

}  // namespace diopigen::sim::fabric

#endif  // DIOPIGEN_SIM_SRC_FABRIC_FAULTS_H_
