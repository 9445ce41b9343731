// kind: endings
// tries: lets its parent trace it and stops, which some parents take for its end
// ended by: a time limit for each case, and SIGKILL
// options: [--limit, time=1, --only, sample=1]
#include <sys/ptrace.h>

#include <csignal>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    std::raise(SIGSTOP);
    return diopiSuccess;
}
