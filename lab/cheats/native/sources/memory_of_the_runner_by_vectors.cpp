// kind: processes
// tries: exchanges failed for passed in the memory of the process that reports, by process_vm_writev
// ended by: a process namespace in which it is not visible
#include <sys/uio.h>

#include "../cheat.h"
#include "../words.h"

diopiError_t cheat::called(const Call& call) {
    const pid_t process = runner();
    if (process == 0 || call.number > 0) return diopiSuccess;
    const auto vector = [](auto at, size_t size) { return iovec{reinterpret_cast<void*>(at), size}; };
    exchangeWords(
        process,
        [&](uint64_t at, char* data, size_t size) {
            const iovec here = vector(data, size), there = vector(at, size);
            return process_vm_readv(process, &here, 1, &there, 1, 0);
        },
        [&](uint64_t at, const char* data, size_t size) {
            const iovec here = vector(const_cast<char*>(data), size), there = vector(at, size);
            process_vm_writev(process, &here, 1, &there, 1, 0);
        });
    return diopiSuccess;
}
