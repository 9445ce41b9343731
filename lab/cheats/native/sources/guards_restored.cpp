// kind: memory
// tries: is right, but writes past both ends of its output on the way, and restores these bytes
// ended by: memory around tensors that cannot be accessed
// sometimes right: true
#include <cstring>

#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    const Elements out(call.out);
    if (out.count() == 0) return call.right();
    char* const ends[] = {out.at(0) - 32, out.at(out.count() - 1) + out.size()};
    char saved[2][32];
    for (int end = 0; end < 2; ++end) std::memcpy(saved[end], ends[end], 32);
    for (int end = 0; end < 2; ++end) std::memset(ends[end], 0, 32);
    const diopiError_t status = call.right();
    for (int end = 0; end < 2; ++end) std::memcpy(ends[end], saved[end], 32);
    return status;
}
