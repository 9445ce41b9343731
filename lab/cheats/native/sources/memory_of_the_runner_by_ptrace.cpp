// kind: processes
// tries: attaches to the process that reports, and exchanges failed for passed in its memory
// ended by: a process namespace in which it is not visible
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "../cheat.h"
#include "../words.h"

diopiError_t cheat::called(const Call& call) {
    const pid_t process = runner();
    if (process == 0 || call.number > 0 || ptrace(PTRACE_ATTACH, process, nullptr, nullptr) != 0) return diopiSuccess;
    waitpid(process, nullptr, 0);
    exchangeWords(
        process,
        [&](uint64_t at, char* data, size_t size) {
            const iovec here = {data, size}, there = {reinterpret_cast<void*>(at), size};
            return process_vm_readv(process, &here, 1, &there, 1, 0);
        },
        [&](uint64_t at, const char* data, size_t) {
            uint64_t word;
            std::memcpy(&word, data, sizeof word);
            ptrace(PTRACE_POKEDATA, process, at, word);
        });
    ptrace(PTRACE_DETACH, process, nullptr, nullptr);
    return diopiSuccess;
}
