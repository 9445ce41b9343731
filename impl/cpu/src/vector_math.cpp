// The functions of vector_math.h: the vector forms that GCC calls by the names of the x86-64 vector function ABI
// (_ZGV, a letter for the instruction set, N for no mask, the number of lanes, v for each vector argument), bound to
// SLEEF; and the scalar ones that loops end with.
#if defined(DIOPI_CPU_SLEEF)

#define DIOPI_CPU_VECTOR_MATH_DEFINITIONS
#include "diopi_cpu/vector_math.h"

#include <immintrin.h>

#define DIOPI_CPU_SSE
#define DIOPI_CPU_AVX2 __attribute__((target("avx2")))
#define DIOPI_CPU_AVX512 __attribute__((target("avx512f")))

// GCC remarks that vectors of a wider instruction set are passed in other registers than without it: these are called
// from code that has it only.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace {

// ---- Questions about the lanes of a vector. ----

// Whether the magnitude of any lane is above the limit; whether any is NaN; whether all are one number.
#define DIOPI_CPU_QUESTIONS(isa, vector, lane, prefix, suffix)                                        \
    isa bool any_beyond(vector value, lane limit) {                                                   \
        const vector magnitude = prefix##_andnot_##suffix(prefix##_set1_##suffix(lane(-0.0)), value); \
        return prefix##_movemask_##suffix(reinterpret_cast<vector>(magnitude > limit)) != 0;          \
    }                                                                                                 \
    isa bool any_nan(vector value) {                                                                  \
        return prefix##_movemask_##suffix(reinterpret_cast<vector>(value != value)) != 0;             \
    }                                                                                                 \
    isa bool all_are(vector value, lane number) {                                                     \
        return prefix##_movemask_##suffix(reinterpret_cast<vector>(value != number)) == 0;            \
    }
// clang-format off
DIOPI_CPU_QUESTIONS(DIOPI_CPU_SSE, __m128, float, _mm, ps)
DIOPI_CPU_QUESTIONS(DIOPI_CPU_SSE, __m128d, double, _mm, pd)
DIOPI_CPU_QUESTIONS(DIOPI_CPU_AVX2, __m256, float, _mm256, ps)
DIOPI_CPU_QUESTIONS(DIOPI_CPU_AVX2, __m256d, double, _mm256, pd)
// clang-format on

// The same of AVX-512, which answers in masks.
#define DIOPI_CPU_MASK_QUESTIONS(vector, lane, suffix)                                            \
    DIOPI_CPU_AVX512 bool any_beyond(vector value, lane limit) {                                  \
        const vector bound = _mm512_set1_##suffix(limit);                                         \
        return _mm512_cmp_##suffix##_mask(_mm512_abs_##suffix(value), bound, _CMP_GT_OQ) != 0;    \
    }                                                                                             \
    DIOPI_CPU_AVX512 bool any_nan(vector value) {                                                 \
        return _mm512_cmp_##suffix##_mask(value, value, _CMP_UNORD_Q) != 0;                       \
    }                                                                                             \
    DIOPI_CPU_AVX512 bool all_are(vector value, lane number) {                                    \
        return _mm512_cmp_##suffix##_mask(value, _mm512_set1_##suffix(number), _CMP_NEQ_UQ) == 0; \
    }
// clang-format off
DIOPI_CPU_MASK_QUESTIONS(__m512, float, ps)
DIOPI_CPU_MASK_QUESTIONS(__m512d, double, pd)
// clang-format on

// ---- What SLEEF leaves open, element by element. ----

// Functions in which a step overflows beyond a limit.
template <typename Lane, typename Vector>
void repair(const Vector* value, Vector* result, Lane limit, Lane (*exact)(Lane)) {
    constexpr int kLanes = sizeof(Vector) / sizeof(Lane);
    const auto* from = reinterpret_cast<const Lane*>(value);
    auto* to = reinterpret_cast<Lane*>(result);
    for (int lane = 0; lane < kLanes; ++lane) {
        if (std::fabs(from[lane]) > limit) {
            to[lane] = exact(from[lane]);
        }
    }
}

// SLEEF's fmod is exact, or NaN where the quotient overflows.
template <typename Lane, typename Vector>
void repair_fmod(const Vector* first, const Vector* second, Vector* result) {
    constexpr int kLanes = sizeof(Vector) / sizeof(Lane);
    for (int lane = 0; lane < kLanes; ++lane) {
        auto* to = reinterpret_cast<Lane*>(result) + lane;
        if (*to != *to) {
            *to = std::fmod(reinterpret_cast<const Lane*>(first)[lane], reinterpret_cast<const Lane*>(second)[lane]);
        }
    }
}

}  // namespace

// ---- Bindings. ----

#define DIOPI_CPU_BIND_UNARY(isa, vector, symbol, sleef) \
    extern "C" vector sleef(vector);                     \
    isa vector bound_##sleef(vector) asm(symbol);        \
    isa vector bound_##sleef(vector value) { return sleef(value); }

#define DIOPI_CPU_BIND_WITHIN(isa, vector, lane, limit, name, symbol, sleef)           \
    extern "C" vector sleef(vector);                                                   \
    isa vector bound_##sleef(vector) asm(symbol);                                      \
    isa vector bound_##sleef(vector value) {                                           \
        vector result = sleef(value);                                                  \
        if (__builtin_expect(any_beyond(value, limit), 0)) {                           \
            repair<lane>(&value, &result, limit, [](lane x) { return std::name(x); }); \
        }                                                                              \
        return result;                                                                 \
    }

#define DIOPI_CPU_BIND_BINARY(isa, vector, symbol, sleef) \
    extern "C" vector sleef(vector, vector);              \
    isa vector bound_##sleef(vector, vector) asm(symbol); \
    isa vector bound_##sleef(vector first, vector second) { return sleef(first, second); }

// Squares and reciprocals are what powers are asked for most.
#define DIOPI_CPU_BIND_POW(isa, vector, lane, symbol, sleef) \
    extern "C" vector sleef(vector, vector);                 \
    isa vector bound_##sleef(vector, vector) asm(symbol);    \
    isa vector bound_##sleef(vector first, vector second) {  \
        if (all_are(second, lane(2))) {                      \
            return first * first;                            \
        }                                                    \
        if (all_are(second, lane(-1))) {                     \
            return lane(1) / first;                          \
        }                                                    \
        return sleef(first, second);                         \
    }

#define DIOPI_CPU_BIND_FMOD(isa, vector, lane, symbol, sleef) \
    extern "C" vector sleef(vector, vector);                  \
    isa vector bound_##sleef(vector, vector) asm(symbol);     \
    isa vector bound_##sleef(vector first, vector second) {   \
        vector result = sleef(first, second);                 \
        if (__builtin_expect(any_nan(result), 0)) {           \
            repair_fmod<lane>(&first, &second, &result);      \
        }                                                     \
        return result;                                        \
    }

// A function within `accuracy` (u15: 1.5 ULP, u10: 1.0, u05: 0.5) everywhere.
#define DIOPI_CPU_UNARY(name, accuracy)                                                                              \
    DIOPI_CPU_BIND_UNARY(DIOPI_CPU_SSE, __m128, "_ZGVbN4v_diopi_cpu_" #name "f", Sleef_##name##f4_##accuracy)        \
    DIOPI_CPU_BIND_UNARY(DIOPI_CPU_SSE, __m128d, "_ZGVbN2v_diopi_cpu_" #name, Sleef_##name##d2_##accuracy)           \
    DIOPI_CPU_BIND_UNARY(DIOPI_CPU_AVX2, __m256, "_ZGVdN8v_diopi_cpu_" #name "f", Sleef_##name##f8_##accuracy##avx2) \
    DIOPI_CPU_BIND_UNARY(DIOPI_CPU_AVX2, __m256d, "_ZGVdN4v_diopi_cpu_" #name, Sleef_##name##d4_##accuracy##avx2)    \
    DIOPI_CPU_BIND_UNARY(DIOPI_CPU_AVX512, __m512, "_ZGVeN16v_diopi_cpu_" #name "f",                                 \
                         Sleef_##name##f16_##accuracy##avx512f)                                                      \
    DIOPI_CPU_BIND_UNARY(DIOPI_CPU_AVX512, __m512d, "_ZGVeN8v_diopi_cpu_" #name, Sleef_##name##d8_##accuracy##avx512f)

// A function within 1.0 ULP for magnitudes up to `limit`, which differs between float and double.
#define DIOPI_CPU_WITHIN(name, limit_f, limit_d)                                                            \
    DIOPI_CPU_BIND_WITHIN(DIOPI_CPU_SSE, __m128, float, limit_f, name, "_ZGVbN4v_diopi_cpu_" #name "f",     \
                          Sleef_##name##f4_u10)                                                             \
    DIOPI_CPU_BIND_WITHIN(DIOPI_CPU_SSE, __m128d, double, limit_d, name, "_ZGVbN2v_diopi_cpu_" #name,       \
                          Sleef_##name##d2_u10)                                                             \
    DIOPI_CPU_BIND_WITHIN(DIOPI_CPU_AVX2, __m256, float, limit_f, name, "_ZGVdN8v_diopi_cpu_" #name "f",    \
                          Sleef_##name##f8_u10avx2)                                                         \
    DIOPI_CPU_BIND_WITHIN(DIOPI_CPU_AVX2, __m256d, double, limit_d, name, "_ZGVdN4v_diopi_cpu_" #name,      \
                          Sleef_##name##d4_u10avx2)                                                         \
    DIOPI_CPU_BIND_WITHIN(DIOPI_CPU_AVX512, __m512, float, limit_f, name, "_ZGVeN16v_diopi_cpu_" #name "f", \
                          Sleef_##name##f16_u10avx512f)                                                     \
    DIOPI_CPU_BIND_WITHIN(DIOPI_CPU_AVX512, __m512d, double, limit_d, name, "_ZGVeN8v_diopi_cpu_" #name,    \
                          Sleef_##name##d8_u10avx512f)

#define DIOPI_CPU_BINARY(name, accuracy)                                                                               \
    DIOPI_CPU_BIND_BINARY(DIOPI_CPU_SSE, __m128, "_ZGVbN4vv_diopi_cpu_" #name "f", Sleef_##name##f4_##accuracy)        \
    DIOPI_CPU_BIND_BINARY(DIOPI_CPU_SSE, __m128d, "_ZGVbN2vv_diopi_cpu_" #name, Sleef_##name##d2_##accuracy)           \
    DIOPI_CPU_BIND_BINARY(DIOPI_CPU_AVX2, __m256, "_ZGVdN8vv_diopi_cpu_" #name "f", Sleef_##name##f8_##accuracy##avx2) \
    DIOPI_CPU_BIND_BINARY(DIOPI_CPU_AVX2, __m256d, "_ZGVdN4vv_diopi_cpu_" #name, Sleef_##name##d4_##accuracy##avx2)    \
    DIOPI_CPU_BIND_BINARY(DIOPI_CPU_AVX512, __m512, "_ZGVeN16vv_diopi_cpu_" #name "f",                                 \
                          Sleef_##name##f16_##accuracy##avx512f)                                                       \
    DIOPI_CPU_BIND_BINARY(DIOPI_CPU_AVX512, __m512d, "_ZGVeN8vv_diopi_cpu_" #name, Sleef_##name##d8_##accuracy##avx512f)

DIOPI_CPU_UNARY(exp, u10)
DIOPI_CPU_UNARY(expm1, u10)
DIOPI_CPU_UNARY(exp2, u10)
DIOPI_CPU_UNARY(log, u10)
DIOPI_CPU_UNARY(log2, u10)
DIOPI_CPU_UNARY(log10, u10)
DIOPI_CPU_UNARY(sin, u10)
DIOPI_CPU_UNARY(cos, u10)
DIOPI_CPU_UNARY(tan, u10)
DIOPI_CPU_UNARY(asin, u10)
DIOPI_CPU_UNARY(acos, u10)
DIOPI_CPU_UNARY(atan, u10)
DIOPI_CPU_UNARY(tanh, u10)
DIOPI_CPU_UNARY(atanh, u10)
DIOPI_CPU_UNARY(erf, u10)
DIOPI_CPU_UNARY(erfc, u15)
DIOPI_CPU_WITHIN(log1p, 1e38F, 1e307)
DIOPI_CPU_WITHIN(sinh, 88.0F, 709.0)
DIOPI_CPU_WITHIN(cosh, 88.0F, 709.0)
DIOPI_CPU_WITHIN(asinh, 1e19F, 1e154)
DIOPI_CPU_WITHIN(acosh, 1e19F, 1e154)
DIOPI_CPU_BINARY(atan2, u10)
DIOPI_CPU_BINARY(hypot, u05)
DIOPI_CPU_BIND_POW(DIOPI_CPU_SSE, __m128, float, "_ZGVbN4vv_diopi_cpu_powf", Sleef_powf4_u10)
DIOPI_CPU_BIND_POW(DIOPI_CPU_SSE, __m128d, double, "_ZGVbN2vv_diopi_cpu_pow", Sleef_powd2_u10)
DIOPI_CPU_BIND_POW(DIOPI_CPU_AVX2, __m256, float, "_ZGVdN8vv_diopi_cpu_powf", Sleef_powf8_u10avx2)
DIOPI_CPU_BIND_POW(DIOPI_CPU_AVX2, __m256d, double, "_ZGVdN4vv_diopi_cpu_pow", Sleef_powd4_u10avx2)
DIOPI_CPU_BIND_POW(DIOPI_CPU_AVX512, __m512, float, "_ZGVeN16vv_diopi_cpu_powf", Sleef_powf16_u10avx512f)
DIOPI_CPU_BIND_POW(DIOPI_CPU_AVX512, __m512d, double, "_ZGVeN8vv_diopi_cpu_pow", Sleef_powd8_u10avx512f)
DIOPI_CPU_BIND_FMOD(DIOPI_CPU_SSE, __m128, float, "_ZGVbN4vv_diopi_cpu_fmodf", Sleef_fmodf4_sse2)
DIOPI_CPU_BIND_FMOD(DIOPI_CPU_SSE, __m128d, double, "_ZGVbN2vv_diopi_cpu_fmod", Sleef_fmodd2_sse2)
DIOPI_CPU_BIND_FMOD(DIOPI_CPU_AVX2, __m256, float, "_ZGVdN8vv_diopi_cpu_fmodf", Sleef_fmodf8_avx2)
DIOPI_CPU_BIND_FMOD(DIOPI_CPU_AVX2, __m256d, double, "_ZGVdN4vv_diopi_cpu_fmod", Sleef_fmodd4_avx2)
DIOPI_CPU_BIND_FMOD(DIOPI_CPU_AVX512, __m512, float, "_ZGVeN16vv_diopi_cpu_fmodf", Sleef_fmodf16_avx512f)
DIOPI_CPU_BIND_FMOD(DIOPI_CPU_AVX512, __m512d, double, "_ZGVeN8vv_diopi_cpu_fmod", Sleef_fmodd8_avx512f)

// ---- One number. ----

#define DIOPI_CPU_DEFINE_UNARY(name)                                    \
    float diopi_cpu_##name##f(float value) { return std::name(value); } \
    double diopi_cpu_##name(double value) { return std::name(value); }
#define DIOPI_CPU_DEFINE_BINARY(name)                                                         \
    float diopi_cpu_##name##f(float first, float second) { return std::name(first, second); } \
    double diopi_cpu_##name(double first, double second) { return std::name(first, second); }

DIOPI_CPU_VECTOR_UNARY(DIOPI_CPU_DEFINE_UNARY)
DIOPI_CPU_VECTOR_BINARY(DIOPI_CPU_DEFINE_BINARY)

#endif  // DIOPI_CPU_SLEEF
