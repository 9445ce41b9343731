// The address range of a device, twice: as the host sees it, closed for ever, and as kernels and copies see it.
//
// Both views lie over one memfd. Opening the pages of a single view while a kernel runs would open them to the whole
// process: a host that forgets to synchronise would be caught only when no worker happens to run, and every kernel
// would pay for two system calls and the flush of all processors' address caches. With two views the host's one
// never opens, so that every host access is caught, at no cost per kernel, however many workers run.
#ifndef DIOPIGEN_SIM_SRC_ARENA_H_
#define DIOPIGEN_SIM_SRC_ARENA_H_

#include <diopigen_sim/status.h>

#include <cstdint>

namespace diopigen::sim {

class Arena {
  public:
    /// Reserves `bytes` bytes, rounded up to pages; memory is taken only where it is written. With `guarded` the
    /// kernels' view is closed at first, and open() and close() say what of it can be used.
    Status create(int device, uint64_t bytes, bool guarded);

    bool created() const { return bytes_ != 0; }
    uint64_t bytes() const { return bytes_; }
    uintptr_t address(uint64_t offset) const { return host_ + offset; }
    uint64_t offset(uintptr_t address) const { return address - host_; }
    bool contains(uintptr_t address) const { return address >= host_ && address - host_ < bytes_; }

    /// What a kernel uses for an address of the host's view.
    unsigned char* translate(uintptr_t address) const {
        return reinterpret_cast<unsigned char*>(device_ + (address - host_));
    }

    /// Page-aligned ranges of the kernels' view of a guarded arena.
    Status open(uint64_t offset, uint64_t bytes);
    void close(uint64_t offset, uint64_t bytes);
    /// Gives the memory behind a page-aligned range back to the system; it reads as zeros then.
    void discard(uint64_t offset, uint64_t bytes);

  private:
    uintptr_t host_ = 0;
    uintptr_t device_ = 0;
    uint64_t bytes_ = 0;
    int file_ = -1;
};

/// What the system protects at once: 4 KiB on most machines, 64 KiB on some.
uint64_t page_bytes();
constexpr uint64_t round_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Where an address lies, from a signal handler: in which device's range, and in which of its views. No lock.
struct Location {
    int device = -1;  ///< -1: in none
    bool in_kernel_view = false;
    uintptr_t address = 0;  ///< in the host's view
    uintptr_t low = 0;      ///< the range of the host's view
    uintptr_t high = 0;
};
Location location_of(uintptr_t address);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_ARENA_H_
