// A vendor without operators and without device functions of its own: those of diopi_sim_link_time are its.
#include <diopigen_sim/chip.h>

extern "C" int diopiOperatorCount() {
    const diopigen::sim::Chip* const chip = diopigen::sim::chip();
    return chip == nullptr ? 0 : static_cast<int>(chip->operatorCount);
}
