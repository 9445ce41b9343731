// Random bits for AVX-512 (x86-64-v4).
#include "diopi_core/clones.h"
#if defined(DIOPI_CPU_LEVELS)

#include <immintrin.h>

#include <cstring>

#include "levels.h"

#pragma GCC target("arch=x86-64-v4")
#define DIOPI_CPU_VECTOR_BYTES 64
#define DIOPI_CPU_RAW_BITS raw_bits_avx512
#include "forms.h"

#endif  // DIOPI_CPU_LEVELS
