// Half precision (binary16: 5 bits of exponent, 10 of mantissa) and bfloat16 (the upper half of a float) as bits.
// Rounding is to nearest, ties to even; too large becomes infinity; NaN stays NaN. C++11, no branches that a vectorizer
// could not turn into selections.
#ifndef DIOPIGEN_HALF_H_
#define DIOPIGEN_HALF_H_

#include <cstdint>
#include <cstring>

// Hidden, so that a library that includes this exports nothing of it.
#pragma GCC visibility push(hidden)

namespace diopigen {

inline std::uint32_t bits_of_float(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

inline float float_of_bits(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

inline std::uint16_t half_of_float(float value) {
    constexpr std::uint32_t kInfinity = 255u << 23;          // of float
    constexpr std::uint32_t kOverflow = (127u + 16u) << 23;  // 65536: the first that is infinite in half
    constexpr std::uint32_t kNormal = 113u << 23;            // the smallest normal number of half
    constexpr std::uint32_t kSubnormal = (112u + 14u)
                                         << 23;  // adding it shifts the bits of a subnormal to their position
    const std::uint32_t sign = bits_of_float(value) & 0x80000000u;
    const std::uint32_t magnitude = bits_of_float(value) ^ sign;
    const std::uint32_t special = magnitude > kInfinity ? 0x7e00u : 0x7c00u;
    const std::uint32_t small = bits_of_float(float_of_bits(magnitude) + float_of_bits(kSubnormal)) - kSubnormal;
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    const std::uint32_t rounded = (magnitude - (112u << 23) + 0xfffu + odd) >> 13;
    const std::uint32_t finite = magnitude < kNormal ? small : rounded;
    return static_cast<std::uint16_t>((magnitude >= kOverflow ? special : finite) | (sign >> 16));
}

inline float float_of_half(std::uint16_t half) {
    constexpr std::uint32_t kMask = 0x7c00u << 13;
    const std::uint32_t shifted = (half & 0x7fffu) << 13;
    const std::uint32_t exponent = shifted & kMask;
    const std::uint32_t normal = shifted + (112u << 23);
    const std::uint32_t special = shifted + (224u << 23);
    const std::uint32_t small = bits_of_float(float_of_bits(shifted + (113u << 23)) - float_of_bits(113u << 23));
    const std::uint32_t magnitude = exponent == kMask ? special : exponent == 0 ? small : normal;
    return float_of_bits(magnitude | (static_cast<std::uint32_t>(half & 0x8000u) << 16));
}

inline std::uint16_t bfloat16_of_float(float value) {
    const std::uint32_t bits = bits_of_float(value);
    const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
}

inline float float_of_bfloat16(std::uint16_t bits) { return float_of_bits(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace diopigen

#pragma GCC visibility pop

#endif  // DIOPIGEN_HALF_H_
