// The device of droplet: the simulated one, held to what droplet.yaml says.
#include <diopi/functions.h>
#include <diopigen_sim/chip.h>
#include <diopigen_sim/device_functions.h>

#include "droplet/error.h"
#include "droplet_chip.h"

extern "C" {

int32_t initLibrary() {
    const diopigen::sim::Status status = diopigen::sim::setChip(&droplet::kChip);
    if (!status.ok()) {
        impl::droplet::setLastError("%s", status.text().c_str());
        return 1;
    }
    const int32_t registered = diopigenRegisterSimulatedDevice();
    if (registered != 0) {
        impl::droplet::setLastError("%s", diopigenSimGetLastErrorString());
    }
    return registered;
}

int32_t finalizeLibrary() { return diopigenFinishSimulatedDevice(); }

}  // extern "C"
