// Random words by the instructions of one level each, which the processor has to have.
#ifndef DIOPI_CPU_SRC_RANDOM_WORDS_LEVELS_H_
#define DIOPI_CPU_SRC_RANDOM_WORDS_LEVELS_H_

#include "random/sample.h"

namespace diopigen::core::detail {

void random_words_avx2(RandomWords& words, int64_t length, const Stream& stream, int64_t first);
void random_words_avx512(RandomWords& words, int64_t length, const Stream& stream, int64_t first);

}  // namespace diopigen::core::detail

#endif  // DIOPI_CPU_SRC_RANDOM_WORDS_LEVELS_H_
