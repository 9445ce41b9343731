// kind: endings
// tries: throws a C++ exception out of a C function
// ended by: the process is not the one that reports
#include <stdexcept>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) { throw std::runtime_error("passed"); }
