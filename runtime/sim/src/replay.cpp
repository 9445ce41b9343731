#include "replay.h"

#include <diopigen_sim/memory.h>

#include <utility>

#include "queue.h"
#include "system.h"

namespace diopigen::sim {

namespace {

uintptr_t start_of(const Region& region, const diopigenGraphSlot_t* slots) {
    return reinterpret_cast<uintptr_t>(slots[region.slot].data) - region.offset;
}

}  // namespace

Replay::Replay(const diopigenGraphSlot_t* slots, std::vector<Region> regions)
    : regions_(std::move(regions)), used_(regions_.size()) {
    for (const Region& region : regions_) {
        starts_.push_back(start_of(region, slots));
    }
}

void Replay::add(std::optional<CapturedKernels> kernels) {
    std::optional<std::vector<Launch>>& step = steps_.emplace_back();
    if (!kernels.has_value()) {
        return;
    }
    std::vector<Launch> launches;
    for (std::shared_ptr<const CapturedKernel>& kernel : *kernels) {
        Launch& launch = launches.emplace_back(Launch{std::move(kernel), {}, kernel_count_ + launches.size()});
        for (const kernels::Buffer& buffer : launch.kernel->buffers) {
            Location location{};
            if (!locate(buffer, &location)) {
                return;
            }
            launch.locations.push_back(location);
        }
    }
    kernel_count_ += launches.size();
    for (const Launch& launch : launches) {
        for (const Location& location : launch.locations) {
            if (location.region != kNone) {
                used_[location.region] = true;
            }
        }
    }
    step = std::move(launches);
}

// Of several regions that have it only those that never move apart are as good as each other.
bool Replay::locate(const kernels::Buffer& buffer, Location* location) {
    *location = {kNone, 0};
    if (buffer.bytes == 0) {
        return true;
    }
    const auto address = reinterpret_cast<uintptr_t>(buffer.pointer);
    for (std::size_t i = 0; i < regions_.size(); ++i) {
        const uint64_t bytes = regions_[i].bytes;
        const bool is_apart = address >= starts_[i] + bytes || address + buffer.bytes <= starts_[i];
        if (is_apart) {
            continue;
        }
        const bool is_inside = address >= starts_[i] && address + buffer.bytes <= starts_[i] + bytes;
        const bool is_second = location->region != kNone;
        if (!is_inside || (is_second && !(regions_[i].is_fixed && regions_[location->region].is_fixed))) {
            return false;
        }
        *location = {static_cast<uint32_t>(i), address - starts_[i]};
    }
    return location->region != kNone;
}

std::shared_ptr<const Replay::Run> Replay::start(System* system, int device, const diopigenGraphSlot_t* slots) const {
    std::vector<void*> starts(regions_.size());
    for (std::size_t i = 0; i < regions_.size(); ++i) {
        if (!used_[i]) {
            continue;
        }
        const uintptr_t start = start_of(regions_[i], slots);
        starts[i] = system->kernel_address(device, start, regions_[i].bytes);
        if (starts[i] == nullptr || (start - starts_[i]) % kAllocationAlignment != 0) {
            return nullptr;
        }
    }
    return std::make_shared<const Run>(shared_from_this(), starts);
}

Replay::Run::Run(std::shared_ptr<const Replay> replay, const std::vector<void*>& starts) : replay_(std::move(replay)) {
    addresses_.reserve(replay_->kernel_count_);
    for (const auto& step : replay_->steps_) {
        if (!step.has_value()) {
            continue;
        }
        for (const Launch& launch : *step) {
            auto& addresses = addresses_.emplace_back();
            for (const Location& location : launch.locations) {
                void* const at =
                    location.region == kNone ? nullptr : static_cast<char*>(starts[location.region]) + location.offset;
                addresses.push_back(at);
            }
        }
    }
}

bool Replay::Run::push(Queue* queue, std::size_t step) const {
    const std::optional<std::vector<Launch>>& launches = replay_->steps_[step];
    if (!launches.has_value()) {
        return false;
    }
    for (const Launch& launch : *launches) {
        // By address, which takes no memory: what the task holds keeps both.
        const CapturedKernel* const kernel = launch.kernel.get();
        const auto* const addresses = &addresses_[launch.number];
        queue->push({"",
                     kernel->bytes,
                     [kernel, addresses] { kernel->function(kernels::Kernel(*addresses, kernel->buffers)); },
                     {shared_from_this(), kernel}});
    }
    return true;
}

}  // namespace diopigen::sim
