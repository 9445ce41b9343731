// The chip that the simulated device is.
#ifndef DIOPIGEN_SIM_CHIP_H_
#define DIOPIGEN_SIM_CHIP_H_

#include <diopigen_kernels/chip.h>
#include <diopigen_sim/status.h>

namespace diopigen::sim {

using kernels::Chip;

/// From now on launches are held to `chip`, which must stay alive; null lifts all restrictions. At first there are
/// none. Before the first allocation its memory is the limit of every device; DIOPI_SIM_MEMORY comes first.
Status setChip(const Chip* chip);
const Chip* chip();

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_CHIP_H_
