// kind: processes
// tries: kills its process group, to which the process that reports may belong
// ended by: a session of its own
#include <csignal>

#include "../cheat.h"
#include "../runner.h"

diopiError_t cheat::called(const Call&) {
    // The group is that of the runner (by number, or 0 if its leader is not visible), or of this process alone.
    const pid_t group = getpgrp();
    const bool isOurs = group == 0 || group == getpid() || group == runner();
    if (isOurs) kill(0, SIGKILL);
    return diopiSuccess;
}
