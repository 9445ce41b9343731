#include <diopigen_sim/device.h>

#include "system.h"

namespace diopigen::sim {

Status initialize() {
    System* system = nullptr;
    return System::get(&system);
}

int deviceCount() {
    System* system = nullptr;
    return System::get(&system).ok() ? system->deviceCount() : 0;
}

int currentDevice() { return System::currentDevice(); }

Status setCurrentDevice(int device) {
    System* system = nullptr;
    const Status status = System::get(&system);
    return status.ok() ? system->setCurrentDevice(device) : status;
}

Status finish() {
    System* system = nullptr;
    Status status = System::get(&system);
    if (!status.ok()) {
        return status;
    }
    status = system->drain();
    const Status leaks = system->check_leaks();
    return status.ok() ? leaks : status;
}

}  // namespace diopigen::sim
