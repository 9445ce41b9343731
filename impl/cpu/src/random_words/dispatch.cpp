#include "diopi_cpu/capability.h"
#include "levels.h"

namespace diopigen::core::detail {

namespace {

DIOPI_CPU_CLONES void random_words_of_loops(RandomWords& words, int64_t length, const Stream& stream, int64_t first) {
    for (int64_t i = 0; i < length; ++i) {
        const RandomBits own = stream(first + i);
        words[0][i] = own[0];
        words[1][i] = own[1];
        words[2][i] = own[2];
        words[3][i] = own[3];
    }
}

}  // namespace

void random_words(RandomWords& words, int64_t length, const Stream& stream, int64_t first) {
#if defined(DIOPI_CPU_LEVELS)
    static const cpu::Capability level = cpu::capability();
    if (level >= cpu::Capability::kAvx512) {
        random_words_avx512(words, length, stream, first);
        return;
    }
    if (level >= cpu::Capability::kAvx2) {
        random_words_avx2(words, length, stream, first);
        return;
    }
#endif
    random_words_of_loops(words, length, stream, first);
}

}  // namespace diopigen::core::detail
