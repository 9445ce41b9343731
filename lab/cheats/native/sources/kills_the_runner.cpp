// kind: processes
// tries: kills the process that reports
// ended by: a process namespace in which it is not visible
#include <csignal>

#include "../cheat.h"
#include "../runner.h"

diopiError_t cheat::called(const Call&) {
    if (const pid_t process = runner()) kill(process, SIGKILL);
    return diopiSuccess;
}
