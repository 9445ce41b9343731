// kind: processes
// tries: interrupts the process that reports, as Ctrl-C would, before a case has failed
// ended by: a process namespace in which it is not visible; an interrupted run has not passed
#include <csignal>

#include "../cheat.h"
#include "../runner.h"

int32_t cheat::started() {
    if (const pid_t process = runner()) kill(process, SIGINT);
    return 0;
}
