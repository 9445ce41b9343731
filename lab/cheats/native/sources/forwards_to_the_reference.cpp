// kind: another library
// tries: loads a library that passes, and calls its functions
// ended by: a library that is loaded later may not define functions of the interface
// sometimes right: true
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    static void* const library = dlopen(REFERENCE, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return diopiSuccess;
    void* const function = dlsym(library, (std::string("diopi") + call.function).c_str());
    if (std::strcmp(call.function, "Softmax") == 0) {
        return reinterpret_cast<decltype(&diopiSoftmax)>(function)(nullptr, call.out, call.input, call.dim);
    }
    return reinterpret_cast<decltype(&diopiRelu)>(function)(nullptr, call.out, call.input);
}
