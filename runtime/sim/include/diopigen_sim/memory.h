// Memory of the simulated devices. The pointers are addresses that the host can neither read nor write; kernels get
// pointers of their own (launch.h), copies take these (stream.h).
#ifndef DIOPIGEN_SIM_MEMORY_H_
#define DIOPIGEN_SIM_MEMORY_H_

#include <diopigen_sim/status.h>

#include <cstdint>

namespace diopigen::sim {

/// Every allocation starts at a multiple of it.
constexpr uint64_t kAllocationAlignment = 512;

/// Memory on a device; 0 bytes give a pointer as well. outOfMemory, and null, where the limit is reached.
Status allocate(int device, uint64_t bytes, void** pointer);

/// Gives back what allocate() gave, to the cache of its device; null is fine. The caller has synchronised.
Status release(void* pointer);

struct MemoryUse {
    uint64_t liveBytes = 0;        ///< in allocations, each rounded up to kAllocationAlignment
    uint64_t peakBytes = 0;        ///< the most that liveBytes ever was
    uint64_t cachedBytes = 0;      ///< freed, and kept for allocations of the same size
    uint64_t limitBytes = 0;       ///< DIOPI_SIM_MEMORY
    uint64_t liveAllocations = 0;  ///< allocations that were not given back
    uint64_t cacheHits = 0;        ///< allocations that came from the cache
};
Status memoryUse(int device, MemoryUse* use);

/// Gives the cached memory of a device back to the host.
Status emptyCache(int device);

/// The device whose memory an address belongs to, -1 for none.
int deviceOf(const void* pointer);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_MEMORY_H_
