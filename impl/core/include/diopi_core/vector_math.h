// Transcendental functions of one number, of which GCC knows vector forms: in a loop without branches it calls them for
// 4, 8 or 16 floats (2, 4 or 8 doubles) at once. The vector forms are those of SLEEF, within 1 ULP (erfc: 1.5), or of
// glibc's libmvec, within 4 ULP; src/vector_math binds them. Without (DIOPI_CPU_VECTOR_MATH is not defined) the
// functions are those of the C library, one at a time. Powers by exponents that need no pow are calculated without it
// everywhere.
//
// A call under a condition is not vectorised: choose with `where` (math.h) instead.
#ifndef DIOPI_CORE_VECTOR_MATH_H_
#define DIOPI_CORE_VECTOR_MATH_H_

#include <cmath>

#include "diopi_core/host_device.h"
#include "diopi_core/simple_powers.h"

// X(name) for functions of one argument and of two, as std:: names them.
// clang-format off
#define DIOPI_CPU_VECTOR_UNARY(X) \
    X(exp) X(expm1) X(exp2) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) \
    X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(erfc)
// clang-format on
#define DIOPI_CPU_VECTOR_BINARY(X) X(atan2) X(hypot) X(fmod)

#if defined(DIOPI_CPU_VECTOR_MATH)

// GCC alone reads the attribute; the translation unit that defines the functions must not see it.
#if defined(DIOPI_CPU_VECTOR_MATH_DEFINITIONS)
#define DIOPI_CPU_SIMD
#else
#define DIOPI_CPU_SIMD __attribute__((simd("notinbranch"), const, nothrow))
#endif

#define DIOPI_CPU_DECLARE_UNARY(name)                      \
    DIOPI_CPU_SIMD float diopi_cpu_##name##f(float value); \
    DIOPI_CPU_SIMD double diopi_cpu_##name(double value);
#define DIOPI_CPU_DECLARE_BINARY(name)                                   \
    DIOPI_CPU_SIMD float diopi_cpu_##name##f(float first, float second); \
    DIOPI_CPU_SIMD double diopi_cpu_##name(double first, double second);
#define DIOPI_CPU_CALL_UNARY(name)                                                          \
    DIOPI_HOST_DEVICE inline float name(float value) { return diopi_cpu_##name##f(value); } \
    DIOPI_HOST_DEVICE inline double name(double value) { return diopi_cpu_##name(value); }
#define DIOPI_CPU_CALL_BINARY(name)                                                                               \
    DIOPI_HOST_DEVICE inline float name(float first, float second) { return diopi_cpu_##name##f(first, second); } \
    DIOPI_HOST_DEVICE inline double name(double first, double second) { return diopi_cpu_##name(first, second); }

#pragma GCC visibility push(hidden)
extern "C" {
DIOPI_CPU_VECTOR_UNARY(DIOPI_CPU_DECLARE_UNARY)
DIOPI_CPU_VECTOR_BINARY(DIOPI_CPU_DECLARE_BINARY)
DIOPI_CPU_DECLARE_BINARY(pow)
}
#pragma GCC visibility pop

#else

#define DIOPI_CPU_CALL_UNARY(name)                                                    \
    DIOPI_HOST_DEVICE inline float name(float value) { return numeric::name(value); } \
    DIOPI_HOST_DEVICE inline double name(double value) { return numeric::name(value); }
#define DIOPI_CPU_CALL_BINARY(name)                                                                         \
    DIOPI_HOST_DEVICE inline float name(float first, float second) { return numeric::name(first, second); } \
    DIOPI_HOST_DEVICE inline double name(double first, double second) { return numeric::name(first, second); }

#endif

namespace diopigen::core::vector_math {

DIOPI_CPU_VECTOR_UNARY(DIOPI_CPU_CALL_UNARY)
DIOPI_CPU_VECTOR_BINARY(DIOPI_CPU_CALL_BINARY)
#if defined(DIOPI_CPU_VECTOR_MATH)
DIOPI_CPU_CALL_BINARY(pow)
#else
DIOPI_HOST_DEVICE inline float pow(float first, float second) { return scalar_power(first, second); }
DIOPI_HOST_DEVICE inline double pow(double first, double second) { return scalar_power(first, second); }
#endif

}  // namespace diopigen::core::vector_math

#undef DIOPI_CPU_DECLARE_UNARY
#undef DIOPI_CPU_DECLARE_BINARY
#undef DIOPI_CPU_CALL_UNARY
#undef DIOPI_CPU_CALL_BINARY

#endif  // DIOPI_CORE_VECTOR_MATH_H_
