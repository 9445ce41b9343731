// kind: processes
// tries: lets the process that reports write no more file
// ended by: a process namespace in which it is not visible
#include <sys/resource.h>

#include "../cheat.h"
#include "../runner.h"

diopiError_t cheat::called(const Call&) {
    const rlimit none = {0, 0};
    if (const pid_t process = runner()) prlimit(process, RLIMIT_FSIZE, &none, nullptr);
    return diopiSuccess;
}
