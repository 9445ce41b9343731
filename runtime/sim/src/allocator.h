// The caching allocator of one device.
#ifndef DIOPIGEN_SIM_SRC_ALLOCATOR_H_
#define DIOPIGEN_SIM_SRC_ALLOCATOR_H_

#include <diopigen_sim/memory.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocation.h"
#include "arena.h"
#include "settings.h"

namespace diopigen::sim {

/// Freed memory is kept by size and handed out again at once. Only when the range is used up is it joined into larger
/// pieces. Under the memory check nothing is handed out again as long as there are fresh addresses: every allocation
/// ends right before a closed page, and its own pages are closed when it is freed.
class Allocator {
  public:
    Allocator(int device, const Settings& settings);

    /// The limit without an environment's; ignored after the first allocation.
    void suggest_limit(uint64_t bytes);

    Status allocate(uint64_t bytes, void** pointer);

    /// The live allocation that starts at `pointer`, removed: it is not found any more. Null for none. Its
    /// memory is used again after recycle().
    Allocation* take(uintptr_t pointer);
    Status recycle(Allocation* allocation);

    /// What a thread has found last, by address. Until memory is freed it stays live, and is found without the lock: a
    /// launch looks up every buffer.
    struct Recent {
        static constexpr std::size_t kCount = 16;
        const Allocator* owner = nullptr;
        uint64_t generation = 0;
        Allocation* allocations[kCount] = {};
    };
    /// That of the calling thread.
    static Recent& recent();
    /// The live allocation that holds an address; null for none.
    Allocation* find(uintptr_t address, Recent& recent) {
        Allocation* const latest = recent.allocations[address / kAllocationAlignment % Recent::kCount];
        const bool is_live = recent.owner == this && recent.generation == generation_;
        return is_live && latest != nullptr && latest->contains(address) ? latest : find_any(address, recent);
    }
    /// The live allocation that holds a whole range; null for none.
    Allocation* find_range(uintptr_t address, uint64_t bytes, Recent& recent) {
        Allocation* const found = find(address, recent);
        return found != nullptr && bytes <= found->bytes - (address - found->base) ? found : nullptr;
    }
    bool contains(uintptr_t address);
    unsigned char* translate(uintptr_t address) const { return arena_.translate(address); }

    MemoryUse use();
    void emptyCache();
    std::vector<const Allocation*> live();

  private:
    Allocation* find_any(uintptr_t address, Recent& recent);
    Status reserve();
    bool reserve_block(uint64_t rounded, uint64_t* offset);
    bool reserve_guarded(uint64_t rounded, uint64_t* offset);
    bool carve(uint64_t bytes, uint64_t* offset);
    void give_back(uint64_t offset, uint64_t bytes);
    void join_cache(bool discard);
    Status check_tail(const Allocation& allocation) const;

    const int device_;
    const Settings& settings_;
    std::mutex mutex_;
    Arena arena_;
    MemoryUse use_;
    std::map<uintptr_t, Allocation*> live_;
    std::atomic<uint64_t> generation_{1};                        // of live_: how often something left it
    std::map<uint64_t, uint64_t> spans_;                         // offset to size of what is free
    std::set<std::pair<uint64_t, uint64_t>> spans_by_size_;      // the same as {size, offset}
    std::unordered_map<uint64_t, std::vector<uint64_t>> cache_;  // size to offsets
    std::deque<std::pair<uint64_t, uint64_t>> quarantine_;       // {offset, size}, oldest first; when guarded
};

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_ALLOCATOR_H_
