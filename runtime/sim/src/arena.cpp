#include "arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>

#include "settings.h"

namespace diopigen::sim {
namespace {

// What the signal handler reads. `bytes` is set last.
struct Memory {
    std::atomic<uintptr_t> host{0};
    std::atomic<uintptr_t> device{0};
    std::atomic<uint64_t> bytes{0};
};
Memory ranges[kMaxDevices];
std::atomic<int> used_ranges{0};  // one more than the last device with memory

Status failed(const char* what, uint64_t bytes) {
    return {Code::outOfMemory,
            std::string(what) + " of " + std::to_string(bytes) + " bytes for a device: " + std::strerror(errno)};
}

}  // namespace

uint64_t page_bytes() {
    static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

Status Arena::create(int device, uint64_t bytes, bool guarded) {
    bytes = round_up(bytes, page_bytes());
    file_ = memfd_create("diopi-sim", MFD_CLOEXEC);
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes)) != 0) {
        return failed("cannot make memory", bytes);
    }
    const int reserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const host = mmap(nullptr, bytes, PROT_NONE, reserve, -1, 0);
    const int protection = guarded ? PROT_NONE : PROT_READ | PROT_WRITE;
    void* const view = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (host == MAP_FAILED || view == MAP_FAILED) {
        const Status status = failed("cannot reserve addresses", bytes);
        for (void* const mapped : {host, view}) {
            if (mapped != MAP_FAILED) {
                munmap(mapped, bytes);
            }
        }
        ::close(file_);
        file_ = -1;
        return status;
    }
    // A core dump of a crashed host would otherwise carry all device memory.
    madvise(view, bytes, MADV_DONTDUMP);
    host_ = reinterpret_cast<uintptr_t>(host);
    device_ = reinterpret_cast<uintptr_t>(view);
    bytes_ = bytes;
    ranges[device].host = host_;
    ranges[device].device = device_;
    ranges[device].bytes = bytes_;
    for (int used = used_ranges; used <= device && !used_ranges.compare_exchange_weak(used, device + 1);) {
    }
    return {};
}

Status Arena::open(uint64_t offset, uint64_t bytes) {
    if (mprotect(reinterpret_cast<void*>(device_ + offset), bytes, PROT_READ | PROT_WRITE) != 0) {
        return failed("cannot open pages", bytes);
    }
    return {};
}

void Arena::close(uint64_t offset, uint64_t bytes) {
    mprotect(reinterpret_cast<void*>(device_ + offset), bytes, PROT_NONE);
}

void Arena::discard(uint64_t offset, uint64_t bytes) {
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes));
}

Location location_of(uintptr_t address) {
    const int count = used_ranges;
    for (int device = 0; device < count; ++device) {
        const Memory& range = ranges[device];
        const uint64_t bytes = range.bytes;
        if (bytes == 0) {
            continue;
        }
        const uintptr_t host = range.host;
        if (address >= host && address - host < bytes) {
            return {device, false, address, host, host + bytes};
        }
        const uintptr_t view = range.device;
        if (address >= view && address - view < bytes) {
            return {device, true, host + (address - view), host, host + bytes};
        }
    }
    return {};
}

}  // namespace diopigen::sim
