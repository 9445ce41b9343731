// kind: environment
// tries: sets LD_PRELOAD, PATH, PYTHONPATH and others, and ends the process, so that another one is started
// ended by: another process starts it, with an environment of its own
#include <unistd.h>

#include <cstdlib>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    setenv("LD_PRELOAD", LIBRARY, 1);
    setenv("LD_AUDIT", LIBRARY, 1);
    setenv("PATH", FOLDER, 1);
    setenv("PYTHONPATH", FOLDER, 1);
    setenv("DIOPIGEN_CACHE", FOLDER "/tmp", 1);
    _exit(0);
}
