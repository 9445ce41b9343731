// What is known about every allocation, live or freed not long ago, readable from a signal handler.
#ifndef DIOPIGEN_SIM_SRC_ALLOCATION_H_
#define DIOPIGEN_SIM_SRC_ALLOCATION_H_

#include <atomic>
#include <cstdint>

#include "text.h"

namespace diopigen::sim {

/// Return addresses, innermost first.
struct Stack {
    static constexpr int kDepth = 24;
    void* frames[kDepth];
    std::atomic<int> count{0};

    /// Takes the stack of the calling thread.
    void capture();
    /// Writes it symbolised, one frame a line; a program linked with -rdynamic shows its functions by name.
    void write_to(int file) const;
};

/// One allocation. The fields are atomic because a signal handler may look while another thread writes them.
struct Allocation {
    enum State : int { kUnused, kLive, kFreed };

    std::atomic<int> state{kUnused};
    std::atomic<int> device{0};
    std::atomic<uintptr_t> base{0};
    std::atomic<uint64_t> bytes{0};
    std::atomic<uint64_t> index{0};  ///< from 1, in the order of all allocations of the process
    Stack allocated;
    Stack gone;

    /// An empty allocation holds its first byte, so that it can be told by its address.
    bool contains(uintptr_t address) const {
        const uint64_t size = bytes;
        return address >= base && address - base < (size == 0 ? 1 : size);
    }
};

/// "allocation #3 (4096 bytes on device 0 at 0x7f0000000000)"
Text& operator<<(Text& text, const Allocation& allocation);

/// Writes where the allocation was made, and freed, as far as that was kept.
void write_origin(int file, const Allocation& allocation);

namespace allocations {

/// A record for a new allocation, with its stack where `stack` is set; null where there are too many. Records of
/// freed allocations are used again, oldest first, when there are more than a few thousand of them.
Allocation* add(int device, uintptr_t base, uint64_t bytes, bool stack);
void retire(Allocation* allocation, bool stack);

/// The allocation that an address belongs to: a live one, else the one freed last, else the live one that ends
/// nearest before the address on the same device range [low, high). Null for none. Takes no lock.
const Allocation* find(uintptr_t address, uintptr_t low, uintptr_t high);

}  // namespace allocations
}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_ALLOCATION_H_
