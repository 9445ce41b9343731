// What every call into the simulated device returns. Nothing throws but std::bad_alloc, for the host's own memory.
#ifndef DIOPIGEN_SIM_STATUS_H_
#define DIOPIGEN_SIM_STATUS_H_

#include <diopigen_kernels/status.h>

namespace diopigen::sim {

using kernels::Code;
using kernels::Status;

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_STATUS_H_
