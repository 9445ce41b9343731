#include <diopigen_sim/chip.h>
#include <diopigen_sim/memory.h>

#include "arena.h"
#include "system.h"

namespace diopigen::sim {
namespace {

Status on_device(int device, System** system) {
    const Status status = System::get(system);
    return status.ok() ? (*system)->require_device(device) : status;
}

}  // namespace

Status allocate(int device, uint64_t bytes, void** pointer) {
    if (pointer == nullptr) {
        return {Code::invalidArgument, "allocate: the place for the pointer is null"};
    }
    *pointer = nullptr;
    System* system = nullptr;
    const Status status = on_device(device, &system);
    return status.ok() ? system->allocator(device).allocate(bytes, pointer) : status;
}

Status release(void* pointer) {
    System* system = nullptr;
    const Status status = System::get(&system);
    return status.ok() ? system->release(pointer) : status;
}

Status memoryUse(int device, MemoryUse* use) {
    System* system = nullptr;
    const Status status = on_device(device, &system);
    if (status.ok()) {
        *use = system->allocator(device).use();
    }
    return status;
}

Status emptyCache(int device) {
    System* system = nullptr;
    const Status status = on_device(device, &system);
    if (status.ok()) {
        system->allocator(device).emptyCache();
    }
    return status;
}

int deviceOf(const void* pointer) {
    const Location location = location_of(reinterpret_cast<uintptr_t>(pointer));
    return location.in_kernel_view ? -1 : location.device;
}

Status setChip(const Chip* chip) {
    System* system = nullptr;
    const Status status = System::get(&system);
    if (status.ok()) {
        system->chip = chip;
        for (int device = 0; chip != nullptr && device < system->deviceCount(); ++device) {
            system->allocator(device).suggest_limit(chip->memory);
        }
    }
    return status;
}

const Chip* chip() {
    System* system = nullptr;
    return System::get(&system).ok() ? system->chip.load() : nullptr;
}

}  // namespace diopigen::sim
