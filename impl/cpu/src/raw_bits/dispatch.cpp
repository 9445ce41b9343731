#include "diopi_cpu/capability.h"
#include "levels.h"

namespace diopigen::core::detail {

namespace {

DIOPI_CPU_CLONES void raw_bits_of_loops(RawBits& bits, int64_t length, const Stream& stream, int64_t first) {
    for (int64_t i = 0; i < length; ++i) {
        const RandomBits own = stream(first + i);
        bits[0][i] = own[0];
        bits[1][i] = own[1];
        bits[2][i] = own[2];
        bits[3][i] = own[3];
    }
}

}  // namespace

void raw_bits(RawBits& bits, int64_t length, const Stream& stream, int64_t first) {
#if defined(DIOPI_CPU_LEVELS)
    static const cpu::Capability level = cpu::capability();
    if (level >= cpu::Capability::kAvx512) {
        raw_bits_avx512(bits, length, stream, first);
        return;
    }
    if (level >= cpu::Capability::kAvx2) {
        raw_bits_avx2(bits, length, stream, first);
        return;
    }
#endif
    raw_bits_of_loops(bits, length, stream, first);
}

}  // namespace diopigen::core::detail
