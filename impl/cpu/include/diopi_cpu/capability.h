// The instruction set that loops marked DIOPI_CPU_CLONES (clones.h) run on, and the variable that limits it.
#ifndef DIOPI_CPU_CAPABILITY_H_
#define DIOPI_CPU_CAPABILITY_H_

namespace diopigen::cpu {

// In this order: each level includes those before it.
enum class Capability { kBaseline, kAvx2, kAvx512 };

// The level in use, fixed when the library is loaded: the best that build and processor have, not above what
// DIOPI_CPU_CAPABILITY (baseline, avx2 or avx512) asks for.
Capability capability();

// Its name, as the variable takes it.
const char* capability_name(Capability level);

// Prints to stderr, once per process, why the level in use is not the one that the variable asks for.
void report_capability();

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_CAPABILITY_H_
