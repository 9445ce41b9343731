// Vectors of floats and doubles of the width that the including file names, and what is asked of them. Each instruction
// set has a file that includes this below `#pragma GCC target`; everything here belongs to that file alone, since the
// same function compiled for two instruction sets would be one to the linker. The headers that it needs come before the
// pragma for the same reason.
#if !defined(DIOPI_CPU_VECTOR_BYTES)
#error define DIOPI_CPU_VECTOR_BYTES: 16, 32 or 64
#endif

namespace diopigen::core {
namespace {

constexpr int kBytes = DIOPI_CPU_VECTOR_BYTES;
// SSE alone has no fused multiply-add.
#if DIOPI_CPU_VECTOR_BYTES > 16 || defined(__aarch64__)
#define DIOPI_CPU_FUSED
#endif

typedef float Floats __attribute__((vector_size(kBytes)));
typedef double Doubles __attribute__((vector_size(kBytes)));
typedef int32_t FloatMask __attribute__((vector_size(kBytes)));
typedef int64_t DoubleMask __attribute__((vector_size(kBytes)));
typedef float HalfFloats __attribute__((vector_size(kBytes / 2)));

// What follows from the type of a vector: a lane, and the mask of a comparison.
template <typename Vector>
struct Lanes;
template <>
struct Lanes<Floats> {
    using Lane = float;
    using Mask = FloatMask;
};
template <>
struct Lanes<Doubles> {
    using Lane = double;
    using Mask = DoubleMask;
};
template <typename Vector>
using LaneOf = typename Lanes<Vector>::Lane;
template <typename Vector>
using MaskOf = typename Lanes<Vector>::Mask;
template <typename Vector>
constexpr int kLanes = kBytes / sizeof(LaneOf<Vector>);

#if DIOPI_CPU_VECTOR_BYTES == 64
template <typename Mask>
bool any(Mask mask) {
    return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(mask), reinterpret_cast<__m512i>(mask)) != 0;
}
// The forms with a mask: of the others GCC 12 says that they read what is not initialized.
Floats square_root(Floats value) { return _mm512_maskz_sqrt_ps(0xffff, value); }
Doubles square_root(Doubles value) { return _mm512_maskz_sqrt_pd(0xff, value); }
Doubles floor_positive(Doubles value) { return _mm512_floor_pd(value); }
// c - a * b, rounded once.
Doubles minus_product(Doubles c, Doubles a, Doubles b) { return _mm512_fnmadd_pd(a, b, c); }
#elif DIOPI_CPU_VECTOR_BYTES == 32
template <typename Mask>
bool any(Mask mask) {
    return _mm256_movemask_epi8(reinterpret_cast<__m256i>(mask)) != 0;
}
Floats square_root(Floats value) { return _mm256_sqrt_ps(value); }
Doubles square_root(Doubles value) { return _mm256_sqrt_pd(value); }
Doubles floor_positive(Doubles value) { return _mm256_floor_pd(value); }
Doubles minus_product(Doubles c, Doubles a, Doubles b) { return _mm256_fnmadd_pd(a, b, c); }
#elif defined(__aarch64__)
template <typename Mask>
bool any(Mask mask) {
    return vmaxvq_u32(reinterpret_cast<uint32x4_t>(mask)) != 0;
}
Floats square_root(Floats value) { return vsqrtq_f32(value); }
Doubles square_root(Doubles value) { return vsqrtq_f64(value); }
Doubles floor_positive(Doubles value) { return vrndmq_f64(value); }
Doubles minus_product(Doubles c, Doubles a, Doubles b) { return vfmsq_f64(c, a, b); }
#else
template <typename Mask>
bool any(Mask mask) {
    return _mm_movemask_epi8(reinterpret_cast<__m128i>(mask)) != 0;
}
Floats square_root(Floats value) { return _mm_sqrt_ps(value); }
Doubles square_root(Doubles value) { return _mm_sqrt_pd(value); }
// Below 2^52.
Doubles floor_positive(Doubles value) {
    const Doubles nearest = (value + 0x1p52) - 0x1p52;
    return nearest - (nearest > value ? Doubles{} + 1 : Doubles{});
}
#endif

template <typename Vector>
MaskOf<Vector> sign_bits(Vector value) {
    return reinterpret_cast<MaskOf<Vector>>(value) & reinterpret_cast<MaskOf<Vector>>(-Vector{});
}

template <typename Vector>
Vector magnitude(Vector value) {
    return reinterpret_cast<Vector>(reinterpret_cast<MaskOf<Vector>>(value) ^ sign_bits(value));
}

// A function of doubles on floats: both halves, and rounded.
template <typename Function>
Floats widened(Floats value, Function function) {
    HalfFloats halves[2];
    std::memcpy(halves, &value, sizeof(value));
    for (HalfFloats& half : halves) {
        half = __builtin_convertvector(function(__builtin_convertvector(half, Doubles)), HalfFloats);
    }
    std::memcpy(&value, halves, sizeof(value));
    return value;
}
template <typename Function>
Doubles widened(Doubles value, Function function) {
    return function(value);
}

// The lanes of `result` where `mask` is not zero, computed again by a scalar function.
template <typename Vector, typename Function, typename... Vectors>
__attribute__((noinline)) Vector corrected(Vector result, MaskOf<Vector> mask, Function function, Vectors... values) {
    for (int lane = 0; lane < kLanes<Vector>; ++lane) {
        if (mask[lane] != 0) {
            result[lane] = function(values[lane]...);
        }
    }
    return result;
}

}  // namespace
}  // namespace diopigen::core
