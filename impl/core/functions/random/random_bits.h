// What random operators make of the four times 32 random bits of an element.
#ifndef DIOPI_CORE_RANDOM_BITS_H_
#define DIOPI_CORE_RANDOM_BITS_H_

#include <array>

#include "diopi_core/dtype.h"
#include "diopi_core/philox.h"
#include "diopi_core/vector_math.h"

namespace diopigen::core {

using RandomBits = std::array<uint32_t, 4>;

DIOPI_HOST_DEVICE inline uint64_t word64(const RandomBits& bits, int k) {
    return uint64_t{bits[2 * k]} | uint64_t{bits[2 * k + 1]} << 32;
}

// An integer of 32 bits as a double, in a form that every vector unit has.
DIOPI_HOST_DEVICE inline double exact(uint32_t word) {
    return static_cast<double>(static_cast<int32_t>(word ^ 0x80000000u)) + 0x1p31;
}

// The lower 32 of the upper 53 bits of 64 bits.
DIOPI_HOST_DEVICE inline uint32_t middle_bits(const RandomBits& bits, int k) {
    return bits[2 * k] >> 11 | bits[2 * k + 1] << 21;
}

// A number in [0, 1) with 53 random bits: the upper ones of 64 bits.
DIOPI_HOST_DEVICE inline double unit(const RandomBits& bits, int k) {
    const uint32_t low = middle_bits(bits, k);
    const auto high = static_cast<double>(static_cast<int32_t>(bits[2 * k + 1] >> 11));
    return (high * 0x1p32 + exact(low)) * 0x1p-53;
}

// An integer below `range`, or any of 64 bits where it is 0: the high half of bits * range, as even as 64 bits
// allow, without a division.
DIOPI_HOST_DEVICE inline uint64_t below(uint64_t range, const RandomBits& bits, int k) {
    __extension__ using Widened = unsigned __int128;
    const uint64_t word = word64(bits, k);
    return range == 0 ? word : static_cast<uint64_t>((static_cast<Widened>(word) * range) >> 64);
}

// Box and Muller's pair: two independent samples with mean 0 and variance 1.
DIOPI_HOST_DEVICE inline Complex128 normal_pair(const RandomBits& bits) {
    const double length = numeric::sqrt(-2 * vector_math::log1p(-unit(bits, 0)));
    const double angle = 6.283185307179586 * unit(bits, 1);
    return Complex128(length * vector_math::cos(angle), length * vector_math::sin(angle));
}

// The first of the pair.
DIOPI_HOST_DEVICE inline double normal(const RandomBits& bits) {
    const double length = numeric::sqrt(-2 * vector_math::log1p(-unit(bits, 0)));
    return length * vector_math::cos(6.283185307179586 * unit(bits, 1));
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_RANDOM_BITS_H_
