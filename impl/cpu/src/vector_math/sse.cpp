// Vector functions for every x86-64 machine.
#if defined(DIOPI_CPU_VECTOR_MATH) && defined(__x86_64__)

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#define DIOPI_CPU_VECTOR_BYTES 16
#define DIOPI_CPU_LETTER b
#define DIOPI_CPU_FLOATS 4
#define DIOPI_CPU_DOUBLES 2
#define DIOPI_CPU_SLEEF_ENDING
#define DIOPI_CPU_PCS
#include "forms.h"

#endif  // DIOPI_CPU_VECTOR_MATH && __x86_64__
