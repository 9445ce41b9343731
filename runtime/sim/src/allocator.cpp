#include "allocator.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "fault.h"

namespace diopigen::sim {
namespace {

constexpr uint64_t kDefaultLimit = uint64_t{4} << 30;
constexpr unsigned char kTail = 0xA5;   // between the end of an allocation and that of its last 512 bytes
constexpr unsigned char kFresh = 0xFB;  // a NaN in every floating dtype, and no plausible index

uint64_t rounded(uint64_t bytes) { return round_up(std::max<uint64_t>(bytes, 1), kAllocationAlignment); }

}  // namespace

Allocator::Allocator(int device, const Settings& settings) : device_(device), settings_(settings) {
    use_.limitBytes = settings.memory != 0 ? settings.memory : kDefaultLimit;
}

void Allocator::suggest_limit(uint64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (settings_.memory == 0 && bytes != 0 && !arena_.created()) {
        use_.limitBytes = bytes;
    }
}

Status Allocator::reserve() {
    if (arena_.created()) {
        return {};
    }
    const bool guarded = settings_.memory_check;
    // Fresh addresses for a long time: addresses cost nothing, and an old pointer then never meets new memory.
    const uint64_t bytes = guarded ? std::max<uint64_t>(use_.limitBytes * 4, uint64_t{16} << 30) : use_.limitBytes;
    const Status status = arena_.create(device_, bytes, guarded);
    if (status.ok()) {
        give_back(0, guarded ? arena_.bytes() : use_.limitBytes / kAllocationAlignment * kAllocationAlignment);
    }
    return status;
}

Status Allocator::allocate(uint64_t bytes, void** pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const Status status = reserve(); !status.ok()) {
        return status;
    }
    const auto full = [&](const char* why) {
        return Status(Code::outOfMemory, "out of memory on device " + std::to_string(device_) + ": " +
                                             std::to_string(bytes) + " bytes asked for, " +
                                             std::to_string(use_.limitBytes - use_.liveBytes) + " of " +
                                             std::to_string(use_.limitBytes) + " free, " +
                                             std::to_string(use_.liveAllocations) + " allocations alive" + why);
    };
    if (bytes > use_.limitBytes || rounded(bytes) > use_.limitBytes - use_.liveBytes) {
        return full("");
    }
    uint64_t offset = 0;
    if (!(settings_.memory_check ? reserve_guarded(rounded(bytes), &offset) : reserve_block(rounded(bytes), &offset))) {
        return full(", none of the free pieces large enough");
    }
    const uintptr_t base = arena_.address(offset);
    if (settings_.memory_check) {
        if (const Status status =
                arena_.open(offset / page_bytes() * page_bytes(), round_up(rounded(bytes), page_bytes()));
            !status.ok()) {
            return status;
        }
        std::memset(arena_.translate(base), kFresh, bytes);
        std::memset(arena_.translate(base) + bytes, kTail, rounded(bytes) - bytes);
    }
    Allocation* const allocation = allocations::add(device_, base, bytes, settings_.stacks);
    if (allocation == nullptr) {
        return full(", no more records");
    }
    live_.emplace(base, allocation);
    use_.liveBytes += rounded(bytes);
    use_.peakBytes = std::max(use_.peakBytes, use_.liveBytes);
    ++use_.liveAllocations;
    *pointer = reinterpret_cast<void*>(base);
    return {};
}

bool Allocator::reserve_block(uint64_t size, uint64_t* offset) {
    if (const auto cached = cache_.find(size); cached != cache_.end() && !cached->second.empty()) {
        *offset = cached->second.back();
        cached->second.pop_back();
        use_.cachedBytes -= size;
        ++use_.cacheHits;
        return true;
    }
    if (carve(size, offset)) {
        return true;
    }
    join_cache(false);
    return carve(size, offset);
}

bool Allocator::reserve_guarded(uint64_t size, uint64_t* offset) {
    const uint64_t pages = round_up(size, page_bytes());
    while (!carve(pages + page_bytes(), offset)) {
        if (quarantine_.empty()) {
            return false;
        }
        give_back(quarantine_.front().first, quarantine_.front().second);
        quarantine_.pop_front();
    }
    *offset += pages - size;
    return true;
}

bool Allocator::carve(uint64_t size, uint64_t* offset) {
    const auto found = spans_by_size_.lower_bound({size, 0});
    if (found == spans_by_size_.end()) {
        return false;
    }
    const auto [have, start] = *found;
    spans_by_size_.erase(found);
    spans_.erase(start);
    if (have > size) {
        spans_.emplace(start + size, have - size);
        spans_by_size_.emplace(have - size, start + size);
    }
    *offset = start;
    return true;
}

void Allocator::give_back(uint64_t offset, uint64_t bytes) {
    const auto next = spans_.lower_bound(offset);
    if (next != spans_.end() && offset + bytes == next->first) {
        bytes += next->second;
        spans_by_size_.erase({next->second, next->first});
        spans_.erase(next);
    }
    auto before = spans_.lower_bound(offset);
    if (before != spans_.begin() && (--before)->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        spans_by_size_.erase({before->second, before->first});
        spans_.erase(before);
    }
    spans_.emplace(offset, bytes);
    spans_by_size_.emplace(bytes, offset);
}

void Allocator::join_cache(bool discard) {
    for (const auto& [size, offsets] : cache_) {
        for (const uint64_t offset : offsets) {
            give_back(offset, size);
        }
    }
    cache_.clear();
    use_.cachedBytes = 0;
    if (discard) {
        for (const auto& [offset, bytes] : spans_) {
            const uint64_t first = round_up(offset, page_bytes());
            const uint64_t last = (offset + bytes) / page_bytes() * page_bytes();
            if (last > first) {
                arena_.discard(first, last - first);
            }
        }
    }
}

Allocation* Allocator::take(uintptr_t pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = live_.find(pointer);
    if (found == live_.end()) {
        return nullptr;
    }
    Allocation* const taken = found->second;
    live_.erase(found);
    ++generation_;
    return taken;
}

Status Allocator::recycle(Allocation* allocation) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const uint64_t size = rounded(allocation->bytes);
    const uint64_t offset = arena_.offset(allocation->base);
    Status status;
    if (settings_.memory_check) {
        status = check_tail(*allocation);
        const uint64_t start = offset / page_bytes() * page_bytes();
        arena_.close(start, round_up(size, page_bytes()));
        arena_.discard(start, round_up(size, page_bytes()));
        quarantine_.emplace_back(start, round_up(size, page_bytes()) + page_bytes());
    } else {
        cache_[size].push_back(offset);
        use_.cachedBytes += size;
    }
    use_.liveBytes -= size;
    --use_.liveAllocations;
    allocations::retire(allocation, settings_.stacks);
    return status;
}

Status Allocator::check_tail(const Allocation& allocation) const {
    const unsigned char* const start = arena_.translate(allocation.base);
    for (uint64_t at = allocation.bytes; at < rounded(allocation.bytes); ++at) {
        if (start[at] != kTail) {
            return fault(settings_, Code::invalidPointer, "write behind the end of memory",
                         "byte " + std::to_string(at) + " was written, found when the memory was freed", &allocation,
                         "correct the kernel that writes too far, or the size that the memory was allocated with");
        }
    }
    return {};
}

Allocator::Recent& Allocator::recent() {
    thread_local Recent found;
    return found;
}

Allocation* Allocator::find_any(uintptr_t address, Recent& recent) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto found = live_.upper_bound(address);
    if (found == live_.begin()) {
        return nullptr;
    }
    Allocation* const before = (--found)->second;
    if (!before->contains(address)) {
        return nullptr;
    }
    if (recent.owner != this || recent.generation != generation_) {
        recent = Recent{this, generation_, {}};
    }
    recent.allocations[address / kAllocationAlignment % Recent::kCount] = before;
    return before;
}

bool Allocator::contains(uintptr_t address) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return arena_.contains(address);
}

MemoryUse Allocator::use() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return use_;
}

void Allocator::emptyCache() {
    const std::lock_guard<std::mutex> lock(mutex_);
    join_cache(true);
}

std::vector<const Allocation*> Allocator::live() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<const Allocation*> found;
    for (const auto& entry : live_) {
        found.push_back(entry.second);
    }
    std::sort(found.begin(), found.end(), [](const Allocation* a, const Allocation* b) { return a->index < b->index; });
    return found;
}

}  // namespace diopigen::sim
