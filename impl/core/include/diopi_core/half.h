// IEEE half precision and bfloat16 as storage types. They convert from and to float only; rounding is to nearest, ties
// to even. The conversions have no branches that a vectoriser could not turn into selections; a GPU has instructions
// for them, which give the same but for the bits of a NaN.
#ifndef DIOPI_CORE_HALF_H_
#define DIOPI_CORE_HALF_H_

#include <cstdint>
#include <cstring>

#include "diopi_core/shared.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace diopi::core {

DIOPI_SHARED inline uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

DIOPI_SHARED inline float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

// Half precision: the sign, 5 bits of exponent, 10 of mantissa.
struct Half {
    uint16_t bits;

    Half() = default;
    DIOPI_SHARED explicit Half(float value) : bits(round(value)) {}
    DIOPI_SHARED explicit operator float() const { return widen(bits); }

  private:
    DIOPI_SHARED static uint16_t round(float value) {
#if defined(__CUDA_ARCH__)
        return __half_as_ushort(__float2half_rn(value));
#else
        constexpr uint32_t kInfinity = 255u << 23;           // of float
        constexpr uint32_t kOverflow = (127u + 16u) << 23;   // 65536: the first that is infinite in half
        constexpr uint32_t kNormal = 113u << 23;             // the smallest normal number of half
        constexpr uint32_t kSubnormal = (112u + 14u) << 23;  // adding it shifts a subnormal's bits into place
        const uint32_t sign = bits_of(value) & 0x80000000u;
        const uint32_t magnitude = bits_of(value) ^ sign;
        const uint32_t special = magnitude > kInfinity ? 0x7e00u : 0x7c00u;
        const uint32_t small = bits_of(float_of(magnitude) + float_of(kSubnormal)) - kSubnormal;
        const uint32_t odd = (magnitude >> 13) & 1u;
        const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + odd) >> 13;
        const uint32_t finite = magnitude < kNormal ? small : normal;
        return static_cast<uint16_t>((magnitude >= kOverflow ? special : finite) | (sign >> 16));
#endif
    }

    DIOPI_SHARED static float widen(uint16_t half) {
#if defined(__CUDA_ARCH__)
        return __half2float(__ushort_as_half(half));
#else
        constexpr uint32_t kExponent = 0x7c00u << 13;
        const uint32_t shifted = (half & 0x7fffu) << 13;
        const uint32_t exponent = shifted & kExponent;
        const uint32_t normal = shifted + (112u << 23);
        const uint32_t special = shifted + (224u << 23);
        const uint32_t small = bits_of(float_of(shifted + (113u << 23)) - float_of(113u << 23));
        const uint32_t magnitude = exponent == kExponent ? special : exponent == 0 ? small : normal;
        return float_of(magnitude | (static_cast<uint32_t>(half & 0x8000u) << 16));
#endif
    }
};

// The upper half of a float.
struct Bfloat16 {
    uint16_t bits;

    Bfloat16() = default;
    DIOPI_SHARED explicit Bfloat16(float value) : bits(round(value)) {}
    DIOPI_SHARED explicit operator float() const { return float_of(static_cast<uint32_t>(bits) << 16); }

  private:
    DIOPI_SHARED static uint16_t round(float value) {
#if defined(__CUDA_ARCH__)
        return __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
        const uint32_t wide = bits_of(value);
        const uint32_t rounded = (wide + 0x7fffu + ((wide >> 16) & 1u)) >> 16;
        return static_cast<uint16_t>((wide & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
#endif
    }
};

}  // namespace diopi::core

#endif  // DIOPI_CORE_HALF_H_
