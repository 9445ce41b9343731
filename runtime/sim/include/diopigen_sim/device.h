// The simulated devices of this process. The first call into any part of them reads the environment and makes them.
#ifndef DIOPIGEN_SIM_DEVICE_H_
#define DIOPIGEN_SIM_DEVICE_H_

#include <diopigen_sim/status.h>

namespace diopigen::sim {

/// Makes the devices now; what is wrong with the environment comes out here, and in every other call.
Status initialize();

/// How many devices there are: DIOPI_SIM_DEVICES, 2 without it; 0 when the environment cannot be read.
int deviceCount();

/// The device of the calling thread, which allocations and new streams belong to. 0 at first.
int currentDevice();
Status setCurrentDevice(int device);

/// Waits for all streams, writes the trace, and reports memory that was not given back: as a status, and under
/// DIOPI_SIM_MEMORY_CHECK=1 once on standard error with the origin of each allocation; the process then exits with 23.
/// Runs at exit by itself. The devices stay usable.
Status finish();

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_DEVICE_H_
