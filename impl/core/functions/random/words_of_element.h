// What random operators make of the four words of an element.
#ifndef DIOPI_CORE_WORDS_OF_ELEMENT_H_
#define DIOPI_CORE_WORDS_OF_ELEMENT_H_

#include <array>

#include "diopi_core/dtype.h"
#include "diopi_core/philox.h"
#include "diopi_core/vector_math.h"

namespace diopi::core {

using FourWords = std::array<uint32_t, 4>;

DIOPI_SHARED inline uint64_t word64(const FourWords& words, int k) {
    return uint64_t{words[2 * k]} | uint64_t{words[2 * k + 1]} << 32;
}

// A whole number of 32 bits as a double, in a form that every vector unit has.
DIOPI_SHARED inline double exact(uint32_t word) {
    return static_cast<double>(static_cast<int32_t>(word ^ 0x80000000u)) + 0x1p31;
}

// The lower 32 of the upper 53 bits of a word of 64.
DIOPI_SHARED inline uint32_t middle_bits(const FourWords& words, int k) {
    return words[2 * k] >> 11 | words[2 * k + 1] << 21;
}

// A number in [0, 1) with 53 random bits: the upper ones of a word of 64.
DIOPI_SHARED inline double unit(const FourWords& words, int k) {
    const uint32_t low = middle_bits(words, k);
    const auto high = static_cast<double>(static_cast<int32_t>(words[2 * k + 1] >> 11));
    return (high * 0x1p32 + exact(low)) * 0x1p-53;
}

// A whole number below `range`, or any of 64 bits where it is 0: the high half of word * range, as even as 64 bits
// allow, without a division.
DIOPI_SHARED inline uint64_t below(uint64_t range, const FourWords& words, int k) {
    __extension__ using Wide = unsigned __int128;
    const uint64_t word = word64(words, k);
    return range == 0 ? word : static_cast<uint64_t>((static_cast<Wide>(word) * range) >> 64);
}

// Box and Muller's pair: two independent draws with mean 0 and variance 1.
DIOPI_SHARED inline Complex128 normal_pair(const FourWords& words) {
    const double length = numeric::sqrt(-2 * vector_math::log1p(-unit(words, 0)));
    const double angle = 6.283185307179586 * unit(words, 1);
    return Complex128(length * vector_math::cos(angle), length * vector_math::sin(angle));
}

// The first of the pair.
DIOPI_SHARED inline double normal(const FourWords& words) {
    const double length = numeric::sqrt(-2 * vector_math::log1p(-unit(words, 0)));
    return length * vector_math::cos(6.283185307179586 * unit(words, 1));
}

}  // namespace diopi::core

#endif  // DIOPI_CORE_WORDS_OF_ELEMENT_H_
