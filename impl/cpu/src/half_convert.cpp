#include "diopi_cpu/half_convert.h"

#include <cstring>

#include "diopi_core/clones.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "diopi_cpu/capability.h"
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace diopigen::cpu {

#if defined(__x86_64__)

namespace {

constexpr int64_t kLanes = 8;
constexpr int64_t kFullLanes = 16;
constexpr __mmask16 kAll = 0xFFFF;  // GCC 12 warns of the operand that a form without a mask does not have
constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

bool has_full_vectors() {
    static const bool has = capability() == Capability::kAvx512;
    return has;
}

// How many elements whole vectors of 512 bits have converted. 512 bits are narrowed as fast as 256.
__attribute__((target("avx512f"))) int64_t widen_full(const Half* from, float* to, int64_t count) {
    int64_t i = 0;
    DIOPI_CPU_UNROLLED
    for (; i + kFullLanes <= count; i += kFullLanes) {
        const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
        _mm512_storeu_ps(to + i, _mm512_maskz_cvtph_ps(kAll, halves));
    }
    return i;
}

__attribute__((target("avx512f"))) int64_t narrow_full(const float* from, Half* to, int64_t count) {
    int64_t i = 0;
    DIOPI_CPU_UNROLLED
    for (; i + kFullLanes <= count; i += kFullLanes) {
        const __m256i halves = _mm512_maskz_cvtps_ph(kAll, _mm512_loadu_ps(from + i), kNearest);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), halves);
    }
    return i;
}

}  // namespace

bool has_half_instructions() {
    // Every processor with AVX2 has them; clang 14 knows no name to ask for them alone.
    static const bool has = __builtin_cpu_supports("avx2");
    return has;
}

// The last few elements go through a full vector too, so that the bits of a NaN do not depend on where it lies.
__attribute__((target("avx,f16c"))) void widen(const Half* from, float* to, int64_t count) {
    int64_t i = has_full_vectors() ? widen_full(from, to, count) : 0;
    DIOPI_CPU_UNROLLED
    for (; i + kLanes <= count; i += kLanes) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
    }
    if (i < count) {
        uint16_t last[kLanes] = {};
        float widened[kLanes];
        std::memcpy(last, from + i, static_cast<size_t>(count - i) * sizeof(Half));
        _mm256_storeu_ps(widened, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(last))));
        std::memcpy(to + i, widened, static_cast<size_t>(count - i) * sizeof(float));
    }
}

__attribute__((target("avx,f16c"))) void narrow(const float* from, Half* to, int64_t count) {
    int64_t i = has_full_vectors() ? narrow_full(from, to, count) : 0;
    DIOPI_CPU_UNROLLED
    for (; i + kLanes <= count; i += kLanes) {
        const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), kNearest);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
    }
    if (i < count) {
        float last[kLanes] = {};
        uint16_t halves[kLanes];
        std::memcpy(last, from + i, static_cast<size_t>(count - i) * sizeof(float));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(halves), _mm256_cvtps_ph(_mm256_loadu_ps(last), kNearest));
        std::memcpy(to + i, halves, static_cast<size_t>(count - i) * sizeof(Half));
    }
}

__attribute__((target("avx,f16c"))) float dot_halves(const float* a, const Half* b, int64_t count) {
    constexpr int64_t kVectors = 4;
    __m256 sums[kVectors] = {};
    int64_t i = 0;
    for (; i + kVectors * kLanes <= count; i += kVectors * kLanes) {
        for (int64_t k = 0; k < kVectors; ++k) {
            const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + i + k * kLanes));
            const __m256 products = _mm256_mul_ps(_mm256_loadu_ps(a + i + k * kLanes), _mm256_cvtph_ps(halves));
            sums[k] = _mm256_add_ps(sums[k], products);
        }
    }
    float lanes[kLanes];
    _mm256_storeu_ps(lanes, _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
    float sum = 0;
    for (const float lane : lanes) {
        sum += lane;
    }
    for (; i < count; ++i) {
        sum += a[i] * static_cast<float>(b[i]);
    }
    return sum;
}

#elif defined(__aarch64__)

// The last few elements by the same instructions: the bits of a NaN do not depend on where it lies.
namespace {

constexpr int64_t kLanes = 4;

float32x4_t widened(const Half* from) {
    uint16x4_t bits;
    std::memcpy(&bits, from, sizeof(bits));
    return vcvt_f32_f16(vreinterpret_f16_u16(bits));
}

float widened_one(const Half* from) {
    __fp16 half;
    std::memcpy(&half, from, sizeof(half));
    return static_cast<float>(half);
}

}  // namespace

bool has_half_instructions() { return true; }

void widen(const Half* from, float* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        to[i] = widened_one(from + i);
    }
}

void narrow(const float* from, Half* to, int64_t count) {
    int64_t i = 0;
    DIOPI_CPU_UNROLLED
    for (; i + kLanes <= count; i += kLanes) {
        const float16x4_t halves = vcvt_f16_f32(vld1q_f32(from + i));
        std::memcpy(to + i, &halves, sizeof(halves));
    }
    for (; i < count; ++i) {
        const auto half = static_cast<__fp16>(from[i]);
        std::memcpy(to + i, &half, sizeof(half));
    }
}

float dot_halves(const float* a, const Half* b, int64_t count) {
    constexpr int64_t kVectors = 8;
    float32x4_t sums[kVectors] = {};
    int64_t i = 0;
    for (; i + kVectors * kLanes <= count; i += kVectors * kLanes) {
        for (int64_t k = 0; k < kVectors; ++k) {
            const int64_t at = i + k * kLanes;
            sums[k] = vaddq_f32(sums[k], vmulq_f32(vld1q_f32(a + at), widened(b + at)));
        }
    }
    float32x4_t total = sums[0];
    for (int64_t k = 1; k < kVectors; ++k) {
        total = vaddq_f32(total, sums[k]);
    }
    float sum = vaddvq_f32(total);
    for (; i < count; ++i) {
        sum += a[i] * widened_one(b + i);
    }
    return sum;
}

#else

bool has_half_instructions() { return false; }
float dot_halves(const float* a, const Half* b, int64_t count) {
    float sum = 0;
    for (int64_t i = 0; i < count; ++i) {
        sum += a[i] * static_cast<float>(b[i]);
    }
    return sum;
}
void widen(const Half* from, float* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        to[i] = static_cast<float>(from[i]);
    }
}
void narrow(const float* from, Half* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        to[i] = Half(from[i]);
    }
}

#endif

}  // namespace diopigen::cpu
