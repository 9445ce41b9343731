// kind: endings
// tries: stops its own process
// ended by: a time limit for each case
// named: has not returned within
// options: [--limit, time=1, --only, sample=1]
#include <csignal>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    std::raise(SIGSTOP);
    return diopiSuccess;
}
