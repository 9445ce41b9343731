// kind: another library
// tries: has a library that passes within itself, which it loads from memory
// ended by: a library that is loaded later may not define functions of the interface
// sometimes right: true
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "../cheat.h"

__asm__(".section .rodata\n.global insideBegin\n.global insideEnd\ninsideBegin:\n.incbin \"" REFERENCE
        "\"\ninsideEnd:\n.previous\n");
extern "C" __attribute__((visibility("hidden"))) const char insideBegin[], insideEnd[];

diopiError_t cheat::called(const Call& call) {
    static void* const library = [] {
        const int file = memfd_create("kernels", 0);
        (void)!write(file, insideBegin, static_cast<size_t>(insideEnd - insideBegin));
        return dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    }();
    if (library == nullptr) return diopiSuccess;
    void* const function = dlsym(library, (std::string("diopi") + call.function).c_str());
    if (std::strcmp(call.function, "Softmax") == 0) {
        return reinterpret_cast<decltype(&diopiSoftmax)>(function)(nullptr, call.out, call.input, call.dim);
    }
    return reinterpret_cast<decltype(&diopiRelu)>(function)(nullptr, call.out, call.input);
}
