// kind: environment
// tries: is right, but leaves the process rounding towards zero and flushing denormals, so that its caller is wrong
// ended by: the state of the processor is compared after the call
// sometimes right: true
#include <cfenv>

#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    const diopiError_t status = call.right();
    std::fesetround(FE_TOWARDZERO);
#ifdef __SSE2__
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
    return status;
}
