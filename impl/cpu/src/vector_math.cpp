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

// ---- Where SLEEF promises nothing, because a step in between overflows: element by element. ----

// Whether any lane lies beyond the limit on either side.
bool any_beyond(__m128 value, float limit) {
    const __m128 magnitude = _mm_andnot_ps(_mm_set1_ps(-0.0F), value);
    return _mm_movemask_ps(_mm_cmpgt_ps(magnitude, _mm_set1_ps(limit))) != 0;
}
bool any_beyond(__m128d value, double limit) {
    const __m128d magnitude = _mm_andnot_pd(_mm_set1_pd(-0.0), value);
    return _mm_movemask_pd(_mm_cmpgt_pd(magnitude, _mm_set1_pd(limit))) != 0;
}
DIOPI_CPU_AVX2 bool any_beyond(__m256 value, float limit) {
    const __m256 magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), value);
    return _mm256_movemask_ps(_mm256_cmp_ps(magnitude, _mm256_set1_ps(limit), _CMP_GT_OQ)) != 0;
}
DIOPI_CPU_AVX2 bool any_beyond(__m256d value, double limit) {
    const __m256d magnitude = _mm256_andnot_pd(_mm256_set1_pd(-0.0), value);
    return _mm256_movemask_pd(_mm256_cmp_pd(magnitude, _mm256_set1_pd(limit), _CMP_GT_OQ)) != 0;
}
DIOPI_CPU_AVX512 bool any_beyond(__m512 value, float limit) {
    return _mm512_cmp_ps_mask(_mm512_abs_ps(value), _mm512_set1_ps(limit), _CMP_GT_OQ) != 0;
}
DIOPI_CPU_AVX512 bool any_beyond(__m512d value, double limit) {
    return _mm512_cmp_pd_mask(_mm512_abs_pd(value), _mm512_set1_pd(limit), _CMP_GT_OQ) != 0;
}

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

// A function within `accuracy` (u10: 1.0 ULP, u05: 0.5) everywhere.
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
DIOPI_CPU_WITHIN(log1p, 1e38F, 1e307)
DIOPI_CPU_WITHIN(sinh, 88.0F, 709.0)
DIOPI_CPU_WITHIN(cosh, 88.0F, 709.0)
DIOPI_CPU_WITHIN(asinh, 1e19F, 1e154)
DIOPI_CPU_WITHIN(acosh, 1e19F, 1e154)
DIOPI_CPU_BINARY(pow, u10)
DIOPI_CPU_BINARY(atan2, u10)
DIOPI_CPU_BINARY(hypot, u05)

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
