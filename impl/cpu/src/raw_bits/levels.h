// Random bits by the instructions of one level each, which the processor has to have.
#ifndef DIOPI_CPU_SRC_RAW_BITS_LEVELS_H_
#define DIOPI_CPU_SRC_RAW_BITS_LEVELS_H_

#include "random/sample.h"

namespace diopigen::core::detail {

void raw_bits_avx2(RawBits& bits, int64_t length, const Stream& stream, int64_t first);
void raw_bits_avx512(RawBits& bits, int64_t length, const Stream& stream, int64_t first);

}  // namespace diopigen::core::detail

#endif  // DIOPI_CPU_SRC_RAW_BITS_LEVELS_H_
