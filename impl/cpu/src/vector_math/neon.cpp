// Vector functions for 64-bit ARM. GCC calls floats by four, and by two in loops that have doubles too.
#if defined(DIOPI_CPU_VECTOR_MATH) && defined(__aarch64__)

#include <arm_neon.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#define DIOPI_CPU_VECTOR_BYTES 16
#define DIOPI_CPU_LETTER n
#define DIOPI_CPU_FLOATS 4
#define DIOPI_CPU_DOUBLES 2
#define DIOPI_CPU_SLEEF_ENDING advsimd
#define DIOPI_CPU_PCS __attribute__((aarch64_vector_pcs))
#include "forms.h"

// The names of all functions; their scalar forms are declared as scalar.cpp defines them.
#define DIOPI_CPU_VECTOR_MATH_DEFINITIONS
#include "diopi_core/vector_math.h"

namespace diopigen::core {
namespace {

Floats twice(HalfFloats half) { return __builtin_shufflevector(half, half, 0, 1, 2, 3); }
HalfFloats lower(Floats value) { return __builtin_shufflevector(value, value, 0, 1); }

}  // namespace

extern "C" {
#define DIOPI_CPU_HALF_UNARY(name)                                                          \
    DIOPI_CPU_HIDDEN HalfFloats DIOPI_CPU_CALLED(diopi_cpu_##name##f, 2, v)(HalfFloats x) { \
        return lower(DIOPI_CPU_CALLED(diopi_cpu_##name##f, 4, v)(twice(x)));                \
    }
#define DIOPI_CPU_HALF_BINARY(name)                                                                        \
    DIOPI_CPU_HIDDEN HalfFloats DIOPI_CPU_CALLED(diopi_cpu_##name##f, 2, vv)(HalfFloats x, HalfFloats y) { \
        return lower(DIOPI_CPU_CALLED(diopi_cpu_##name##f, 4, vv)(twice(x), twice(y)));                    \
    }
DIOPI_CPU_VECTOR_UNARY(DIOPI_CPU_HALF_UNARY)
DIOPI_CPU_VECTOR_BINARY(DIOPI_CPU_HALF_BINARY)
DIOPI_CPU_HALF_BINARY(pow)
}
}  // namespace diopigen::core

#endif  // DIOPI_CPU_VECTOR_MATH && __aarch64__
