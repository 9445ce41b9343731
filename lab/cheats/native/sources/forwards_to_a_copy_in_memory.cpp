// kind: another library
// tries: has a library that passes within itself, which it loads from memory
// ended by: the report names libraries that are loaded and define functions of the interface
// sometimes right: true
// named: the library has opened
#include <sys/mman.h>
#include <unistd.h>

#include "../cheat.h"
#include "../other.h"

__asm__(".section .rodata\n.global insideBegin\n.global insideEnd\ninsideBegin:\n.incbin \"" REFERENCE
        "\"\ninsideEnd:\n.previous\n");
extern "C" __attribute__((visibility("hidden"))) const char insideBegin[], insideEnd[];

diopiError_t cheat::called(const Call& call) {
    static void* const library = [] {
        const int file = memfd_create("kernels", 0);
        (void)!write(file, insideBegin, static_cast<size_t>(insideEnd - insideBegin));
        return dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    }();
    return forwarded(library, call);
}
