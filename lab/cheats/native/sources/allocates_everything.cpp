// kind: memory
// tries: allocates memory and writes to it until there is none, at most 3 GiB
// ended by: a limit of memory
// options: [--limit, memory=1, --only, sample=1]
// named: bad_alloc|memory
#include <cstdlib>
#include <cstring>
#include <new>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    for (int k = 0; k < 48; ++k) {
        char* const block = new char[64 << 20];
        std::memset(block, k, 64 << 20);
        __asm__ volatile("" : : "r"(block) : "memory");
    }
    return diopiSuccess;
}
