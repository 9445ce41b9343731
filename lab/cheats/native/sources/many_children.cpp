// kind: processes
// tries: forks 64 children, which sleep for a minute
// ended by: a limit of processes, and a process namespace
#include <unistd.h>

#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    for (int child = 0; child < 64 && call.number == 0; ++child) {
        if (fork() == 0) {
            sleep(60);
            _exit(0);
        }
    }
    return diopiSuccess;
}
