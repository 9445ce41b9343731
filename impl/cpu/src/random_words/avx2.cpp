// Random words for AVX2 (x86-64-v3).
#include "diopi_core/clones.h"
#if defined(DIOPI_CPU_LEVELS)

#include <immintrin.h>

#include <cstring>

#include "levels.h"

#pragma GCC target("arch=x86-64-v3")
#define DIOPI_CPU_VECTOR_BYTES 32
#include "forms.h"

namespace diopigen::core::detail {

void random_words_avx2(RandomWords& words, int64_t length, const Stream& stream, int64_t first) {
    words_of_lanes(words, length, stream, first);
}

}  // namespace diopigen::core::detail

#endif  // DIOPI_CPU_LEVELS
