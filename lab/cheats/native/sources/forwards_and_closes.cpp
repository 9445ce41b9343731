// kind: another library
// tries: loads a library that passes in each call, calls its function, and closes it again
// ended by: loaded libraries are looked at within a call, or opening files of others is refused
// sometimes right: true
// named: the library has opened
#include <dlfcn.h>

#include "../cheat.h"
#include "../other.h"

diopiError_t cheat::called(const Call& call) {
    void* const library = dlopen(REFERENCE, RTLD_NOW | RTLD_LOCAL);
    const diopiError_t status = forwarded(library, call);
    if (library != nullptr) dlclose(library);
    return status;
}
