// kind: processes
// tries: forks a child in a session of its own, which goes on after the run
// ended by: a process namespace, whose processes end with the first one
#include <unistd.h>

#include "../cheat.h"

int32_t cheat::started() {
    if (fork() == 0) {
        setsid();
        sleep(60);
        _exit(0);
    }
    return 0;
}
