// A cloned function, also by its address in data, which is bound as the library is.
#include <cstdint>

#include "diopi_core/clones.h"
#include "diopi_cpu/capability.h"

extern "C" {
extern const char __ehdr_start __attribute__((visibility("hidden")));  // the linker's: where the library begins

DIOPI_CPU_CLONES int cloned(int value) { return value + 1; }
int (*volatile bound)(int) = cloned;

// Where the selected clone is in the library, as nm counts.
uintptr_t selected() { return reinterpret_cast<uintptr_t>(bound) - reinterpret_cast<uintptr_t>(&__ehdr_start); }
const char* level() { return diopigen::cpu::capability_name(diopigen::cpu::capability()); }
void report() { diopigen::cpu::report_capability(); }
}
