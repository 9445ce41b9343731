// IEEE half precision and bfloat16 as storage types. They convert from and to float only, by diopigen/half.h; a GPU has
// instructions for it, which give the same but for the bits of a NaN.
#ifndef DIOPI_CORE_HALF_H_
#define DIOPI_CORE_HALF_H_

#include <diopigen/half.h>

#include <cstdint>
#include <cstring>

#include "diopi_core/host_device.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace diopigen::core {

DIOPI_HOST_DEVICE inline uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

DIOPI_HOST_DEVICE inline float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

// Half precision: the sign, 5 bits of exponent, 10 of mantissa.
struct Half {
    uint16_t bits;

    Half() = default;
    DIOPI_HOST_DEVICE explicit Half(float value) : bits(round(value)) {}
    DIOPI_HOST_DEVICE explicit operator float() const { return widen(bits); }
    DIOPI_HOST_DEVICE static Half from_bits(uint16_t bits) {
        Half half;
        half.bits = bits;
        return half;
    }

  private:
    DIOPI_HOST_DEVICE static uint16_t round(float value) {
#if defined(__CUDA_ARCH__)
        return __half_as_ushort(__float2half_rn(value));
#else
        return diopigen::half_of_float(value);
#endif
    }

    DIOPI_HOST_DEVICE static float widen(uint16_t half) {
#if defined(__CUDA_ARCH__)
        return __half2float(__ushort_as_half(half));
#else
        return diopigen::float_of_half(half);
#endif
    }
};

// The upper half of a float.
struct Bfloat16 {
    uint16_t bits;

    Bfloat16() = default;
    DIOPI_HOST_DEVICE explicit Bfloat16(float value) : bits(round(value)) {}
    DIOPI_HOST_DEVICE explicit operator float() const { return float_of(static_cast<uint32_t>(bits) << 16); }
    DIOPI_HOST_DEVICE static Bfloat16 from_bits(uint16_t bits) {
        Bfloat16 half;
        half.bits = bits;
        return half;
    }

  private:
    DIOPI_HOST_DEVICE static uint16_t round(float value) {
#if defined(__CUDA_ARCH__)
        return __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
        return diopigen::bfloat16_of_float(value);
#endif
    }
};

// What concerns the sign alone needs no conversion.
constexpr uint16_t kHalfSign = 0x8000;
DIOPI_HOST_DEVICE inline Half operator-(Half x) { return Half::from_bits(x.bits ^ kHalfSign); }
DIOPI_HOST_DEVICE inline Bfloat16 operator-(Bfloat16 x) { return Bfloat16::from_bits(x.bits ^ kHalfSign); }
DIOPI_HOST_DEVICE inline Half absolute(Half x) { return Half::from_bits(x.bits & ~kHalfSign); }
DIOPI_HOST_DEVICE inline Bfloat16 absolute(Bfloat16 x) { return Bfloat16::from_bits(x.bits & ~kHalfSign); }

}  // namespace diopigen::core

#endif  // DIOPI_CORE_HALF_H_
