// kind: texts
// tries: prints 64 MiB
// ended by: a limit of what is saved of a library's output
#include <cstdio>
#include <string>

#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    const std::string block(1 << 20, 'x');
    for (int k = 0; k < 64 && call.number == 0; ++k) std::fwrite(block.data(), 1, block.size(), stderr);
    return diopiSuccess;
}
