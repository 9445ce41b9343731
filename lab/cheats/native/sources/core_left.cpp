// kind: files
// tries: leaves a core of its process, with all that it had in memory, in the current folder
// ended by: a limit of cores, and files that the process may not write
// options: [--only, sample=1]
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cstdlib>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    const rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_CORE, &all);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    std::abort();
}
