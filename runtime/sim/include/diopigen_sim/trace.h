// Records of what ran on the simulated devices: in a file (DIOPI_SIM_TRACE=PATH), or for the program itself.
#ifndef DIOPIGEN_SIM_TRACE_H_
#define DIOPIGEN_SIM_TRACE_H_

#include <diopigen_sim/status.h>

#include <cstdint>
#include <string>
#include <vector>

namespace diopigen::sim {

/// One kernel or copy. Times are seconds of the steady clock since the devices were made.
struct TraceRecord {
    double start = 0;
    double end = 0;
    int device = 0;
    int stream = 0;
    std::string name;    ///< of the operator; "copy to device", "copy to host", "copy on device"
    uint64_t bytes = 0;  ///< of all buffers together
};

/// Whether records are kept for takeRecords(); off at first. The file does not depend on it.
Status enableTrace(bool enabled);
/// The records so far, by their end, and forgets them. A million are kept; `dropped` counts the rest.
std::vector<TraceRecord> takeRecords(uint64_t* dropped = nullptr);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_TRACE_H_
