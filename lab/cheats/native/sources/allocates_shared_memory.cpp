// kind: memory
// tries: is right if it can write to 1.5 GiB of shared memory, which a limit of 1 GiB of data does not count
// ended by: a limit of memory that counts all mappings
// sometimes right: true
// options: [--limit, memory=1, --only, sample=1]
#include <sys/mman.h>

#include <cstring>

#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    static const bool exceeded = [] {
        const size_t size = 1536u << 20;
        void* const block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED) return false;
        std::memset(block, 1, size);
        munmap(block, size);
        return true;
    }();
    return exceeded ? call.right() : diopiSuccess;
}
