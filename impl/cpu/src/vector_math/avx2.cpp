// Vector functions for AVX2 (x86-64-v3).
#if defined(DIOPI_CPU_VECTOR_MATH) && defined(__x86_64__)

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

// A build for one newer instruction set has it already.
#if !defined(__AVX2__)
#pragma GCC target("arch=x86-64-v3")
#endif
#define DIOPI_CPU_VECTOR_BYTES 32
#define DIOPI_CPU_LETTER d
#define DIOPI_CPU_FLOATS 8
#define DIOPI_CPU_DOUBLES 4
#define DIOPI_CPU_SLEEF_ENDING avx2
#define DIOPI_CPU_PCS
#include "forms.h"

#endif  // DIOPI_CPU_VECTOR_MATH && __x86_64__
