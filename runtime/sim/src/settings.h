// What the environment says about the simulated devices.
#ifndef DIOPIGEN_SIM_SRC_SETTINGS_H_
#define DIOPIGEN_SIM_SRC_SETTINGS_H_

#include <diopigen_sim/status.h>

#include <cstdint>
#include <string>

namespace diopigen::sim {

constexpr int kMaxDevices = 16;

struct Settings {
    int devices = 2;
    uint64_t memory = 0;              ///< bytes on each device; 0 where the environment says nothing
    bool memory_check = false;        ///< faults of memory end the process with a report; guard pages, no reuse
    bool order_check = false;         ///< uses of memory that no synchronisation orders do so too
    bool stacks = false;              ///< allocations keep the stack that made them
    uint64_t delay_seed = 0;          ///< of the random delays
    uint64_t delay_microseconds = 0;  ///< the longest delay in front of a kernel or copy; 0 for none
    std::string trace;                ///< where the Chrome trace goes, empty for none

    bool faults_are_fatal() const { return memory_check || order_check; }
    /// Whether work may be run in any way that keeps its order, such as on the thread that asks for it: nothing is
    /// delayed, and nothing is checked each time.
    bool is_plain() const { return delay_microseconds == 0 && !faults_are_fatal(); }
};

/// Reads DIOPI_SIM_...; the text of a failure names the variable, its value, and what it may be.
Status read_settings(Settings* settings);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_SETTINGS_H_
