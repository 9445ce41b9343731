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
    char* first_page;  // of those that can be written
    char* last_page;
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

std::size_t page_bytes() {
    static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

std::size_t rounded_up(std::size_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

char* page_of(char* address) {
    return address - reinterpret_cast<std::uintptr_t>(address) % page_bytes();  // NOLINT
}

void allow(char* from, const char* to, int access) {
    if (from < to) {
        mprotect(from, static_cast<std::size_t>(to - from), access);
    }
}

Violation violation_at(const char* address) {
    std::uint32_t number = 0;
    for (std::size_t k = 0; k < locked.storages.size(); ++k) {
        const Placed& one = locked.storages[k];
        if (one.start != nullptr && address >= one.start) {
            number = static_cast<std::uint32_t>(k);
        }
    }
    return {number, address - locked.storages[number].start};
}

void note_write(int signal, siginfo_t* info, void* context) {
    auto* const address = static_cast<char*>(info->si_addr);
    if (locked.start <= address && address < locked.end) {
        const std::size_t number = locked.count.fetch_add(1);
        if (number < kMostViolations) {
            locked.violations[number] = violation_at(address);
        }
        char* const page = page_of(address);
        allow(page, page + page_bytes(), PROT_READ | PROT_WRITE);
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
        needed += rounded_up(bytes) + 2 * page_bytes();
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

char* Pages::add(std::size_t bytes, bool is_writable) {
    char* const next = memory_ + used_;
    Placed placed{next, bytes, next, next};
    char* end = next + rounded_up(bytes);
    const std::size_t elements = bytes > 2 * kGuard ? bytes - 2 * kGuard : 0;
    if (is_writable && elements == 0) {
        placed.last_page = end;
    } else if (is_writable && elements % kAlignment == 0) {
        placed.last_page = next + rounded_up(kGuard + elements);
        placed.start = placed.last_page - elements - kGuard;
        placed.first_page = page_of(placed.last_page - elements);
        end = placed.last_page + page_bytes();
    } else if (is_writable) {
        placed.first_page = next + page_bytes();
        placed.start = placed.first_page - kGuard;
        placed.last_page = placed.first_page + rounded_up(elements + kGuard);
        end = placed.last_page;
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
        allow(one.first_page, one.last_page, PROT_READ | PROT_WRITE);
    }
    struct sigaction noting {};
    noting.sa_sigaction = note_write;
    noting.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &noting, &locked.before);
}

std::vector<Violation> Pages::unlock() {
    struct sigaction now {};
    sigaction(SIGSEGV, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == note_write) {
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
