// kind: memory
// tries: writes past its output, and makes memcmp find everything equal, through /proc/self/mem
// ended by: memory is compared in another process
// named: memory outside the tensor is written|guard
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    const unsigned char returnZero[] = {0x31, 0xc0, 0xc3};  // xor eax, eax; ret
    const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    int (*volatile compare)(const void*, const void*, size_t) = std::memcmp;
    (void)!pwrite(memory, returnZero, sizeof returnZero, reinterpret_cast<off_t>(compare));
    close(memory);
    const diopiError_t status = call.right();
    const Elements out(call.out);
    if (out.count() > 0) *(out.at(out.count() - 1) + out.size()) ^= 1;
    return status;
}
