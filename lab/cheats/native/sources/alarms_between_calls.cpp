// kind: endings
// tries: lets a timer send SIGALRM and SIGPROF, so that the process ends where no case is open
// ended by: a process that ends without having left the library fails the run
#include <sys/time.h>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    const itimerval soon = {{0, 2000}, {0, 2000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    setitimer(ITIMER_PROF, &soon, nullptr);
    return diopiSuccess;
}
