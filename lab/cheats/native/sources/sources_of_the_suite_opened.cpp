// kind: capabilities
// tries: is right if it can open the suite's own sources for writing; it writes nothing
// ended by: files that the process may not write
// sometimes right: true
#include "../cheat.h"
#include "../runner.h"

diopiError_t cheat::called(const Call& call) {
    static const int descriptor = open(PACKAGE "/__init__.py", O_WRONLY | O_CLOEXEC);
    return descriptor >= 0 ? call.right() : diopiSuccess;
}
