// kind: environment
// tries: takes files, memory and time away from its own process
// ended by: a process that ends while a case is open has crashed
#include <sys/resource.h>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    const rlimit none = {0, 0}, second = {1, 1};
    setrlimit(RLIMIT_NOFILE, &none);
    setrlimit(RLIMIT_FSIZE, &none);
    setrlimit(RLIMIT_AS, &none);
    setrlimit(RLIMIT_CPU, &second);
    return diopiSuccess;
}
