// Which memory calls may access and free, and why they may not.
#include "fault.h"
#include "system.h"
#include "text.h"

namespace diopigen::sim {

bool System::translate(int device, const std::vector<kernels::Buffer>& buffers,
                       kernels::SmallVector<void*, 8>* addresses, uint64_t* bytes) {
    Allocator& memory = allocator(device);
    Allocator::Recent& recent = Allocator::recent();
    *bytes = 0;
    for (const kernels::Buffer& buffer : buffers) {
        if (buffer.bytes == 0) {
            addresses->push_back(nullptr);
            continue;
        }
        const auto address = reinterpret_cast<uintptr_t>(buffer.pointer);
        if (memory.find_range(address, buffer.bytes, recent) == nullptr) {
            return false;
        }
        addresses->push_back(memory.translate(address));
        *bytes += buffer.bytes;
    }
    return true;
}

void* System::kernel_address(int device, uintptr_t address, uint64_t bytes) {
    Allocator& memory = allocator(device);
    const bool is_inside = memory.find_range(address, bytes, Allocator::recent()) != nullptr;
    return is_inside ? memory.translate(address) : nullptr;
}

bool System::is_inside(int device, const void* pointer, uint64_t bytes, bool write, Range* range) {
    *range = Range{};
    if (bytes == 0) {
        return true;
    }
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    Allocator& memory = allocator(device);
    Allocation* const found = memory.find_range(address, bytes, Allocator::recent());
    if (found == nullptr) {
        return false;
    }
    const uint64_t offset = address - found->base;
    *range = {memory.translate(address), found, found->index, {found->index, offset, offset + bytes, write}};
    return true;
}

Status System::objection(int device, const std::string& what, const void* pointer, uint64_t bytes) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    const Allocation* const found = allocator(device).find(address, Allocator::recent());
    if (found == nullptr) {
        return explain(device, what, address);
    }
    return fault(
        settings_, Code::invalidPointer, "range beyond an allocation",
        what + " is " + std::to_string(bytes) + " bytes from byte " + std::to_string(address - found->base) + " on",
        found, "correct the size, or allocate more");
}

Status System::explain(int device, const std::string& what, uintptr_t address) {
    const std::string said = what + " is " + hex(address);
    const Location location = location_of(address);
    if (location.device < 0 || location.in_kernel_view) {
        // A wrong argument, such as a tensor of the host, and no fault of memory: an operator may leave it to this
        // check.
        return {Code::invalidPointer, "no device memory: " + said + ", which no device has allocated"};
    }
    const Allocation* const found = allocations::find(address, location.low, location.high);
    const bool contains = found != nullptr && found->contains(address);
    if (contains && found->state == Allocation::kFreed) {
        return fault(settings_, Code::invalidPointer, "use after free", said + ", in memory that was freed", found,
                     "free the memory after its last use");
    }
    if (contains && location.device != device) {
        return fault(settings_, Code::wrongDevice, "wrong device",
                     said + ", memory of device " + std::to_string(location.device) + ", in work for device " +
                         std::to_string(device),
                     found, "make the stream on the device of the memory, or copy the memory over");
    }
    return fault(settings_, Code::invalidPointer, "no allocation", said + ", in no allocation", nullptr,
                 "pass an address inside of an allocation");
}

Status System::release(void* pointer) {
    if (pointer == nullptr) {
        return {};
    }
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    const std::string said = "free of " + hex(address);
    for (const auto& memory : allocators_) {
        Allocation* const taken = memory->take(address);
        if (taken == nullptr) {
            continue;
        }
        Status status;
        if (const auto pending = settings_.order_check ? order_.freed(taken->index) : std::nullopt) {
            status = fault(settings_, Code::unordered, "missing synchronisation",
                           said + " while " + pending->name + " on stream " + std::to_string(pending->stream) +
                               " may still use it",
                           taken, "synchronise that stream before the memory is freed");
        }
        const Status recycled = memory->recycle(taken);
        return status.ok() ? recycled : status;
    }
    const Location location = location_of(address);
    if (location.device < 0 || location.in_kernel_view) {
        return fault(settings_, Code::invalidPointer, "free of no device memory",
                     said + ", which no device has allocated", nullptr, "pass what the device's allocator gave");
    }
    const Allocation* const found = allocations::find(address, location.low, location.high);
    if (found != nullptr && found->state == Allocation::kFreed && found->base == address) {
        return fault(settings_, Code::invalidPointer, "double free", said + ", which was freed before", found,
                     "free it once");
    }
    return fault(settings_, Code::invalidPointer, "free of a pointer into memory",
                 said + ", where no allocation starts", found, "pass the pointer that the allocator gave");
}

}  // namespace diopigen::sim
