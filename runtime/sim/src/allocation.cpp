#include "allocation.h"

#include <execinfo.h>

#include <deque>
#include <mutex>
#include <new>

namespace diopigen::sim {

void Stack::capture() { count = backtrace(frames, kDepth); }

void Stack::write_to(int file) const { backtrace_symbols_fd(frames, count, file); }

Text& operator<<(Text& text, const Allocation& allocation) {
    text << "allocation #" << allocation.index.load() << " (" << allocation.bytes.load() << " bytes on device "
         << allocation.device.load() << " at ";
    return text.address(allocation.base) << ")";
}

void write_origin(int file, const Allocation& allocation) {
    const struct {
        const char* what;
        const Stack& stack;
    } stacks[] = {{" was allocated by:\n", allocation.allocated}, {" was freed by:\n", allocation.gone}};
    for (const auto& [what, stack] : stacks) {
        if (stack.count > 0) {
            (Text() << "diopi-sim: allocation #" << allocation.index.load() << what).write_to(file);
            stack.write_to(file);
        }
    }
}

namespace allocations {
namespace {

// Records never move and are never given back, so that a signal handler can walk over them.
constexpr std::size_t kChunk = 1024;
constexpr std::size_t kMaxChunks = 8192;
constexpr std::size_t kMaxFreed = 16384;

std::atomic<Allocation*> chunks[kMaxChunks];
std::atomic<std::size_t> used{0};

struct Book {
    std::mutex mutex;
    std::deque<Allocation*> freed;  // oldest first
    uint64_t next_index = 1;
};

Book& book() {
    static Book* const allocated = new Book;  // outlives static destructors that free device memory
    return *allocated;
}

Allocation* record(std::size_t position) { return chunks[position / kChunk].load() + position % kChunk; }

Allocation* unused_record(Book& book) {
    const std::size_t position = used;
    const bool full = position == kChunk * kMaxChunks;
    if (!book.freed.empty() && (full || book.freed.size() > kMaxFreed)) {
        Allocation* const oldest = book.freed.front();
        book.freed.pop_front();
        return oldest;
    }
    if (full) {
        return nullptr;
    }
    if (position % kChunk == 0) {
        auto* const chunk = new (std::nothrow) Allocation[kChunk];
        if (chunk == nullptr) {
            return nullptr;
        }
        chunks[position / kChunk] = chunk;
    }
    used = position + 1;
    return record(position);
}

}  // namespace

Allocation* add(int device, uintptr_t base, uint64_t bytes, bool stack) {
    Book& shared = book();
    const std::lock_guard<std::mutex> lock(shared.mutex);
    Allocation* const allocated = unused_record(shared);
    if (allocated == nullptr) {
        return nullptr;
    }
    allocated->state = Allocation::kUnused;
    allocated->device = device;
    allocated->base = base;
    allocated->bytes = bytes;
    allocated->index = shared.next_index++;
    allocated->allocated.count = 0;
    allocated->gone.count = 0;
    if (stack) {
        allocated->allocated.capture();
    }
    allocated->state = Allocation::kLive;
    return allocated;
}

void retire(Allocation* allocation, bool stack) {
    Book& shared = book();
    const std::lock_guard<std::mutex> lock(shared.mutex);
    if (stack) {
        allocation->gone.capture();
    }
    allocation->state = Allocation::kFreed;
    shared.freed.push_back(allocation);
}

const Allocation* find(uintptr_t address, uintptr_t low, uintptr_t high) {
    const Allocation* freed = nullptr;
    const Allocation* before = nullptr;
    const std::size_t count = used;
    for (std::size_t position = 0; position < count; ++position) {
        const Allocation* const one = record(position);
        const int state = one->state;
        if (state == Allocation::kUnused || one->base < low || one->base >= high) {
            continue;
        }
        if (one->contains(address)) {
            if (state == Allocation::kLive) {
                return one;
            }
            if (freed == nullptr || freed->index < one->index) {
                freed = one;
            }
        } else if (state == Allocation::kLive && one->base <= address &&
                   (before == nullptr || before->base < one->base)) {
            before = one;
        }
    }
    return freed != nullptr ? freed : before;
}

}  // namespace allocations
}  // namespace diopigen::sim
