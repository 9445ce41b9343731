// kind: processes
// tries: stops the process that reports, so that the run never ends
// ended by: a process namespace in which it is not visible
// seconds: 15
#include <csignal>

#include "../cheat.h"
#include "../runner.h"

diopiError_t cheat::called(const Call&) {
    if (const pid_t process = runner()) kill(process, SIGSTOP);
    return diopiSuccess;
}
