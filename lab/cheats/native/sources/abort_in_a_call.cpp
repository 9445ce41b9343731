// kind: endings
// tries: aborts in a call
// ended by: the process is not the one that reports
// named: SIGABRT
#include <cstdlib>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) { std::abort(); }
