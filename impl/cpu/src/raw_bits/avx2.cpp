// Random bits for AVX2 (x86-64-v3).
#include "diopi_core/clones.h"
#if defined(DIOPI_CPU_LEVELS)

#include <immintrin.h>

#include <cstring>

#include "levels.h"

#pragma GCC target("arch=x86-64-v3")
#define DIOPI_CPU_VECTOR_BYTES 32
#define DIOPI_CPU_RAW_BITS raw_bits_avx2
#include "forms.h"

#endif  // DIOPI_CPU_LEVELS
