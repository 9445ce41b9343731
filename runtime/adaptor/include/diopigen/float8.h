// Numbers of one byte as bits: float8_e4m3fn and float8_e5m2 (a sign, bits of exponent, bits of mantissa), and
// float8_e8m0fnu (a power of two). Rounding is to nearest, ties to even; NaN stays NaN. Too large becomes infinity, in
// e4m3fn, which has none, the largest number.
#ifndef DIOPIGEN_FLOAT8_H_
#define DIOPIGEN_FLOAT8_H_

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define DIOPIGEN_FLOAT8_FUNCTION __host__ __device__ inline
#else
#define DIOPIGEN_FLOAT8_FUNCTION inline
#endif

// Hidden, so that a library that includes this exports nothing of it.
#pragma GCC visibility push(hidden)

namespace diopigen {

enum class Float8 : std::uint8_t { kE4m3fn, kE5m2, kE8m0fnu };

namespace float8 {

DIOPIGEN_FLOAT8_FUNCTION std::uint32_t bits_of(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

DIOPIGEN_FLOAT8_FUNCTION float float_of(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

}  // namespace float8

DIOPIGEN_FLOAT8_FUNCTION float float_of_float8(Float8 format, std::uint8_t bits) {
    constexpr std::uint32_t kNan = 0x7fc00000u;
    if (format == Float8::kE8m0fnu) {
        return float8::float_of(bits == 255 ? kNan : bits == 0 ? 0x00400000u : std::uint32_t{bits} << 23);
    }
    const bool is_e4m3 = format == Float8::kE4m3fn;
    const std::uint32_t magnitude = bits & 0x7fu;
    const std::uint32_t sign = (bits & 0x80u) << 24;
    std::uint32_t result;
    if (magnitude < (is_e4m3 ? 8u : 4u)) {  // subnormal: units of 2^-9 or 2^-16
        result = float8::bits_of(static_cast<float>(magnitude) * (is_e4m3 ? 0.001953125f : 0.0000152587890625f));
    } else if (is_e4m3) {
        result = magnitude == 0x7fu ? kNan : (magnitude << 20) + (120u << 23);
    } else {
        result = magnitude > 0x7cu ? kNan : magnitude == 0x7cu ? 0x7f800000u : (magnitude << 21) + (112u << 23);
    }
    return float8::float_of(result | sign);
}

DIOPIGEN_FLOAT8_FUNCTION std::uint8_t float8_of_float(Float8 format, float value) {
    constexpr std::uint32_t kInfinity = 255u << 23;
    const std::uint32_t sign = float8::bits_of(value) & 0x80000000u;
    const std::uint32_t magnitude = float8::bits_of(value) ^ sign;
    if (format == Float8::kE8m0fnu) {  // the magnitude; of two numbers that are as near the larger
        const std::uint32_t exponent = magnitude >> 23;
        const bool is_up = (magnitude & 0x400000u) != 0 && ((magnitude & 0x3fffffu) != 0 || exponent > 0);
        return static_cast<std::uint8_t>(exponent == 255 ? 255 : exponent + (is_up ? 1 : 0));
    }
    const bool is_e4m3 = format == Float8::kE4m3fn;
    const std::uint32_t dropped = is_e4m3 ? 20 : 21;
    std::uint32_t result;
    if (magnitude > kInfinity) {
        result = 0x7f;
    } else if (is_e4m3 && magnitude > float8::bits_of(464.0f)) {
        result = 0x7e;
    } else if (!is_e4m3 && magnitude >= float8::bits_of(61440.0f)) {
        result = 0x7c;
    } else if (magnitude < ((is_e4m3 ? 121u : 113u) << 23)) {  // the sum has the bits of a subnormal at its end
        const float shift = is_e4m3 ? 16384.0f : 128.0f;
        result = float8::bits_of(float8::float_of(magnitude) + shift) - float8::bits_of(shift);
    } else {
        const std::uint32_t odd = (magnitude >> dropped) & 1u;
        const std::uint32_t half = (1u << (dropped - 1)) - 1u;
        result = (magnitude - ((is_e4m3 ? 120u : 112u) << 23) + half + odd) >> dropped;
    }
    return static_cast<std::uint8_t>(result | (sign >> 24));
}

}  // namespace diopigen

#pragma GCC visibility pop

#undef DIOPIGEN_FLOAT8_FUNCTION

#endif  // DIOPIGEN_FLOAT8_H_
