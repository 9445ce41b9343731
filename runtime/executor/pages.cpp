#include "pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <new>

namespace diopigen::executor {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kRetained = std::size_t{64} << 20;
constexpr std::size_t kMostViolations = 64;

struct Placed {
    char* start;
    std::size_t bytes;
    char* firstPage;  // of those that can be written
    char* lastPage;
};

/// What the handler of the signal reads; there is one call at a time.
struct Locked {
    std::vector<Placed> storages;
    char* start = nullptr;
    char* end = nullptr;
    std::atomic<std::size_t> count{0};
    std::array<Violation, kMostViolations> violations{};
    struct sigaction before {};
} locked;

std::size_t pageBytes() {
    static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

std::size_t roundedUp(std::size_t bytes) { return (bytes + pageBytes() - 1) / pageBytes() * pageBytes(); }

char* pageOf(char* address) {
    return address - reinterpret_cast<std::uintptr_t>(address) % pageBytes();  // NOLINT
}

void allow(char* from, const char* to, int access) {
    if (from < to) {
        mprotect(from, static_cast<std::size_t>(to - from), access);
    }
}

Violation violationAt(const char* address) {
    std::uint32_t number = 0;
    for (std::size_t k = 0; k < locked.storages.size(); ++k) {
        const Placed& one = locked.storages[k];
        if (one.start != nullptr && address >= one.start) {
            number = static_cast<std::uint32_t>(k);
        }
    }
    return {number, address - locked.storages[number].start};
}

void noteWrite(int signal, siginfo_t* info, void* context) {
    auto* const address = static_cast<char*>(info->si_addr);
    if (locked.start <= address && address < locked.end) {
        const std::size_t number = locked.count.fetch_add(1);
        if (number < kMostViolations) {
            locked.violations[number] = violationAt(address);
        }
        char* const page = pageOf(address);
        allow(page, page + pageBytes(), PROT_READ | PROT_WRITE);
        return;
    }
    if ((locked.before.sa_flags & SA_SIGINFO) != 0) {
        locked.before.sa_sigaction(signal, info, context);
    } else if (locked.before.sa_handler == SIG_DFL || locked.before.sa_handler == SIG_IGN) {
        sigaction(SIGSEGV, &locked.before, nullptr);  // what faulted is done again
    } else {
        locked.before.sa_handler(signal);
    }
}

}  // namespace

void Pages::reserve(const std::vector<std::size_t>& sizes) {
    std::size_t needed = 0;
    for (const std::size_t bytes : sizes) {
        needed += roundedUp(bytes) + 2 * pageBytes();
    }
    if (needed <= size_) {
        return;
    }
    if (memory_ != nullptr) {
        munmap(memory_, size_);
    }
    size_ = 0;
    void* const memory = mmap(nullptr, needed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory_ = memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
    if (memory_ == nullptr) {
        throw std::bad_alloc();
    }
    size_ = needed;
}

char* Pages::add(std::size_t bytes, bool isWritable) {
    char* const next = memory_ + used_;
    Placed placed{next, bytes, next, next};
    char* end = next + roundedUp(bytes);
    const std::size_t elements = bytes > 2 * kGuard ? bytes - 2 * kGuard : 0;
    if (isWritable && elements == 0) {
        placed.lastPage = end;
    } else if (isWritable && elements % kAlignment == 0) {
        placed.lastPage = next + roundedUp(kGuard + elements);
        placed.start = placed.lastPage - elements - kGuard;
        placed.firstPage = pageOf(placed.lastPage - elements);
        end = placed.lastPage + pageBytes();
    } else if (isWritable) {
        placed.firstPage = next + pageBytes();
        placed.start = placed.firstPage - kGuard;
        placed.lastPage = placed.firstPage + roundedUp(elements + kGuard);
        end = placed.lastPage;
    }
    locked.storages.push_back(placed);
    used_ = static_cast<std::size_t>(end - memory_);
    return placed.start;
}

void Pages::skip() { locked.storages.push_back({nullptr, 0, nullptr, nullptr}); }

void Pages::lock() {
    locked.count = 0;
    locked.start = memory_;
    locked.end = memory_ + used_;
    allow(locked.start, locked.end, PROT_READ);
    for (const Placed& one : locked.storages) {
        allow(one.firstPage, one.lastPage, PROT_READ | PROT_WRITE);
    }
    struct sigaction noting {};
    noting.sa_sigaction = noteWrite;
    noting.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &noting, &locked.before);
}

std::vector<Violation> Pages::unlock() {
    struct sigaction now {};
    sigaction(SIGSEGV, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == noteWrite) {
        sigaction(SIGSEGV, &locked.before, nullptr);
    }
    allow(locked.start, locked.end, PROT_READ | PROT_WRITE);
    const std::size_t count = std::min<std::size_t>(locked.count, kMostViolations);
    return {locked.violations.begin(), locked.violations.begin() + static_cast<std::ptrdiff_t>(count)};
}

void Pages::clear() {
    locked.storages.clear();
    used_ = 0;
    if (size_ > kRetained) {
        munmap(memory_, size_);
        memory_ = nullptr;
        size_ = 0;
    }
}

}  // namespace diopigen::executor
