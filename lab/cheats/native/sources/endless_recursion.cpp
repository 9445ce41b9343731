// kind: endings
// tries: recurses until the stack overflows
// ended by: the process is not the one that reports
// named: SIGSEGV
#include "../cheat.h"

static int deeper(volatile char* above) {
    volatile char block[4096];
    block[0] = above[0];
    return above[0] == 0 ? deeper(block) + block[0] : 0;
}

diopiError_t cheat::called(const Call&) {
    volatile char first[1] = {0};
    return static_cast<diopiError_t>(deeper(first));
}
