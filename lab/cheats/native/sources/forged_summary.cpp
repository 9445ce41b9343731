// kind: texts
// tries: prints a forged summary to standard output and standard error, and ends the process so that it is shown
// ended by: what a library prints is shown as its own
#include <unistd.h>

#include <cstdio>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    for (FILE* file : {stdout, stderr}) {
        std::fputs("\nforged: 999 passed\n", file);
        std::fflush(file);
    }
    _exit(0);
}
