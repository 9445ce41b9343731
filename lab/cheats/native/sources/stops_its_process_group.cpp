// kind: processes
// tries: stops its process group, to which the process that reports, or the one that clears up, may belong
// ended by: a process group of its own, and folders that are removed by the process that reports
// options: [--limit, time=1, --only, sample=1]
// seconds: 60
#include <csignal>

#include "../cheat.h"
#include "../runner.h"

diopiError_t cheat::called(const Call&) {
    const pid_t group = getpgrp();
    const bool isOurs = group == 0 || group == getpid() || group == runner();
    if (isOurs) kill(0, SIGSTOP);
    return diopiSuccess;
}
