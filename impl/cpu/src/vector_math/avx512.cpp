// Vector functions for AVX-512 (x86-64-v4).
#if defined(DIOPI_CPU_VECTOR_MATH) && defined(__x86_64__)

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

// A build for one newer instruction set has it already.
#if !defined(__AVX512F__)
#pragma GCC target("arch=x86-64-v4")
#endif
#define DIOPI_CPU_VECTOR_BYTES 64
#define DIOPI_CPU_LETTER e
#define DIOPI_CPU_FLOATS 16
#define DIOPI_CPU_DOUBLES 8
#define DIOPI_CPU_SLEEF_ENDING avx512f
#define DIOPI_CPU_PCS
#include "forms.h"

#endif  // DIOPI_CPU_VECTOR_MATH && __x86_64__
