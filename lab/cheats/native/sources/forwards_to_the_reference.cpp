// kind: another library
// tries: loads a library that passes, and calls its functions
// ended by: the report names libraries that are loaded and define functions of the interface
// sometimes right: true
// named: the library has opened
#include "../cheat.h"
#include "../other.h"

diopiError_t cheat::called(const Call& call) {
    static void* const library = dlopen(REFERENCE, RTLD_NOW | RTLD_LOCAL);
    return forwarded(library, call);
}
