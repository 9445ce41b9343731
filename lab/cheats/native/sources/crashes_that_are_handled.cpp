// kind: endings
// tries: handles SIGSEGV itself, jumps out of a wild store and reports success
// ended by: comparison with an oracle
#include <csetjmp>
#include <csignal>

#include "../cheat.h"

static sigjmp_buf before;

static void handle(int) { siglongjmp(before, 1); }

diopiError_t cheat::called(const Call&) {
    std::signal(SIGSEGV, handle);
    if (sigsetjmp(before, 1) == 0) {
        volatile int* volatile nowhere = nullptr;
        *nowhere = 1;
    }
    return diopiSuccess;
}
