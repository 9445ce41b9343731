// Random bits for AVX-512 (x86-64-v4).
#include "diopi_core/clones.h"
#if defined(DIOPI_CPU_LEVELS)

#include <immintrin.h>

#include <cstring>

#include "levels.h"

#pragma GCC target("arch=x86-64-v4")
#define DIOPI_CPU_VECTOR_BYTES 64
#include "forms.h"

namespace diopigen::core::detail {

void raw_bits_avx512(RawBits& bits, int64_t length, const Stream& stream, int64_t first) {
    bits_of_lanes(bits, length, stream, first);
}

}  // namespace diopigen::core::detail

#endif  // DIOPI_CPU_LEVELS
