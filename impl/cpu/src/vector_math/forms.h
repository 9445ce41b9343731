// The vector forms of vector_math.h for one instruction set, bound to the library that has them: SLEEF, or glibc's
// libmvec. GCC calls them by the names of the processor's vector function ABI: _ZGV, a letter for the instruction set,
// N for no mask, the number of lanes, v for each vector argument. The including file defines below a pragma `target`
//   DIOPI_CPU_VECTOR_BYTES                the width of a vector
//   DIOPI_CPU_LETTER                      the letter of the instruction set
//   DIOPI_CPU_FLOATS, DIOPI_CPU_DOUBLES   the numbers of lanes
//   DIOPI_CPU_SLEEF_ENDING                what SLEEF adds to the names of its functions for the instruction set
//   DIOPI_CPU_PCS                         the attribute of the ABI's calling convention; empty where that is the usual
// and has included before it <cmath>, <cstdint>, <cstring>, <limits> and the header of the vector instructions.

// GCC remarks that vectors of a wider instruction set are passed in other registers than without it: these functions
// are called from code that has it only.
#pragma GCC diagnostic ignored "-Wpsabi"

// clang-format off
#include "lanes.h"
#include "diopi_core/simple_powers.h"  // over the vectors of lanes.h
#include "remainder.h"
// clang-format on

// SLEEF's own names have the usual calling convention.
#if defined(DIOPI_CPU_SLEEF)
#define DIOPI_CPU_FORM_PCS
#else
#define DIOPI_CPU_FORM_PCS DIOPI_CPU_PCS
#endif

namespace diopigen::core {
namespace {

// Functions that overflow on their way to a result beyond a limit: those lanes are for the C library.
template <typename Vector>
Vector within(Vector result, Vector value, LaneOf<Vector> limit, LaneOf<Vector> (*exact)(LaneOf<Vector>)) {
    const MaskOf<Vector> is_beyond = magnitude(value) > limit;
    return __builtin_expect(any(is_beyond), 0) ? corrected(result, is_beyond, exact, value) : result;
}

template <typename Vector>
Vector vector_pow(Vector first, Vector second, DIOPI_CPU_FORM_PCS Vector (*general)(Vector, Vector)) {
    Vector result;
    const bool is_one_exponent = !any(second != second[0]);
    return is_one_exponent && simple_power(first, second[0], &result) ? result : general(first, second);
}

// By the C library.
template <typename Vector>
DIOPI_CPU_FORM_PCS Vector pow_of_lanes(Vector first, Vector second) {
    using Lane = LaneOf<Vector>;
    Lane (*exact)(Lane, Lane) = [](Lane base, Lane exponent) { return std::pow(base, exponent); };
    return corrected(first, MaskOf<Vector>{} == 0, exact, first, second);
}

}  // namespace
}  // namespace diopigen::core

// The vector forms of glibc 2.41 for 64-bit ARM round halfway cases to one step of a table and scale by the next:
// 0.5 to the power -0.142578125 is off by 0.3 per cent, 2.0F to 2.578125F by 2 per cent.
#if defined(__aarch64__) && !defined(DIOPI_CPU_SLEEF)
#define DIOPI_CPU_GENERAL_POW(Vector, form) pow_of_lanes<Vector>
#else
#define DIOPI_CPU_GENERAL_POW(Vector, form) form
#endif

#define DIOPI_CPU_JOINED(a, b, c, d, e, f) a##b##c##d##e##f
#define DIOPI_CPU_JOIN(a, b, c, d, e, f) DIOPI_CPU_JOINED(a, b, c, d, e, f)
// The name that GCC calls, for `args` arguments of `lanes` lanes.
#define DIOPI_CPU_CALLED(name, lanes, args) DIOPI_CPU_JOIN(_ZGV, DIOPI_CPU_LETTER, N, lanes, args, _##name)
#if defined(DIOPI_CPU_SLEEF)
#define DIOPI_CPU_FORM_F(name, args, accuracy) \
    DIOPI_CPU_JOIN(Sleef_##name, f, DIOPI_CPU_FLOATS, _, accuracy, DIOPI_CPU_SLEEF_ENDING)
#define DIOPI_CPU_FORM_D(name, args, accuracy) \
    DIOPI_CPU_JOIN(Sleef_##name, d, DIOPI_CPU_DOUBLES, _, accuracy, DIOPI_CPU_SLEEF_ENDING)
#else
#define DIOPI_CPU_FORM_F(name, args, accuracy) DIOPI_CPU_CALLED(name##f, DIOPI_CPU_FLOATS, args)
#define DIOPI_CPU_FORM_D(name, args, accuracy) DIOPI_CPU_CALLED(name, DIOPI_CPU_DOUBLES, args)
#endif

// Of this library alone; the forms that are bound are another library's.
#define DIOPI_CPU_HIDDEN DIOPI_CPU_PCS __attribute__((visibility("hidden")))
#define DIOPI_CPU_BIND_UNARY(Vector, called, form) \
    DIOPI_CPU_FORM_PCS Vector form(Vector);        \
    DIOPI_CPU_HIDDEN Vector called(Vector value) { return form(value); }
#define DIOPI_CPU_BIND_BINARY(Vector, called, form) \
    DIOPI_CPU_FORM_PCS Vector form(Vector, Vector); \
    DIOPI_CPU_HIDDEN Vector called(Vector first, Vector second) { return form(first, second); }
#define DIOPI_CPU_BIND_POW(Vector, called, form)                               \
    DIOPI_CPU_FORM_PCS Vector form(Vector, Vector);                            \
    DIOPI_CPU_HIDDEN Vector called(Vector first, Vector second) {              \
        return vector_pow(first, second, DIOPI_CPU_GENERAL_POW(Vector, form)); \
    }
#define DIOPI_CPU_BIND_FMOD(Vector, called) \
    DIOPI_CPU_HIDDEN Vector called(Vector first, Vector second) { return vector_fmod(first, second); }
#define DIOPI_CPU_BIND_WITHIN(Vector, called, form, name, limit)                                                   \
    DIOPI_CPU_FORM_PCS Vector form(Vector);                                                                        \
    DIOPI_CPU_HIDDEN Vector called(Vector value) {                                                                 \
        return within(form(value), value, limit, [](LaneOf<Vector> x) -> LaneOf<Vector> { return std::name(x); }); \
    }

#define DIOPI_CPU_UNARY(name, accuracy)                                                      \
    DIOPI_CPU_BIND_UNARY(Floats, DIOPI_CPU_CALLED(diopi_cpu_##name##f, DIOPI_CPU_FLOATS, v), \
                         DIOPI_CPU_FORM_F(name, v, accuracy))                                \
    DIOPI_CPU_BIND_UNARY(Doubles, DIOPI_CPU_CALLED(diopi_cpu_##name, DIOPI_CPU_DOUBLES, v),  \
                         DIOPI_CPU_FORM_D(name, v, accuracy))
#define DIOPI_CPU_BINARY(name, accuracy)                                                       \
    DIOPI_CPU_BIND_BINARY(Floats, DIOPI_CPU_CALLED(diopi_cpu_##name##f, DIOPI_CPU_FLOATS, vv), \
                          DIOPI_CPU_FORM_F(name, vv, accuracy))                                \
    DIOPI_CPU_BIND_BINARY(Doubles, DIOPI_CPU_CALLED(diopi_cpu_##name, DIOPI_CPU_DOUBLES, vv),  \
                          DIOPI_CPU_FORM_D(name, vv, accuracy))
// Up to a magnitude, which differs between float and double, where the library is SLEEF.
#if defined(DIOPI_CPU_SLEEF)
#define DIOPI_CPU_WITHIN(name, limit_f, limit_d)                                              \
    DIOPI_CPU_BIND_WITHIN(Floats, DIOPI_CPU_CALLED(diopi_cpu_##name##f, DIOPI_CPU_FLOATS, v), \
                          DIOPI_CPU_FORM_F(name, v, u10), name, limit_f)                      \
    DIOPI_CPU_BIND_WITHIN(Doubles, DIOPI_CPU_CALLED(diopi_cpu_##name, DIOPI_CPU_DOUBLES, v),  \
                          DIOPI_CPU_FORM_D(name, v, u10), name, limit_d)
#else
#define DIOPI_CPU_WITHIN(name, limit_f, limit_d) DIOPI_CPU_UNARY(name, u10)
#endif

namespace diopigen::core {
extern "C" {
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
DIOPI_CPU_BIND_POW(Floats, DIOPI_CPU_CALLED(diopi_cpu_powf, DIOPI_CPU_FLOATS, vv), DIOPI_CPU_FORM_F(pow, vv, u10))
DIOPI_CPU_BIND_POW(Doubles, DIOPI_CPU_CALLED(diopi_cpu_pow, DIOPI_CPU_DOUBLES, vv), DIOPI_CPU_FORM_D(pow, vv, u10))
DIOPI_CPU_BIND_FMOD(Floats, DIOPI_CPU_CALLED(diopi_cpu_fmodf, DIOPI_CPU_FLOATS, vv))
DIOPI_CPU_BIND_FMOD(Doubles, DIOPI_CPU_CALLED(diopi_cpu_fmod, DIOPI_CPU_DOUBLES, vv))
}
}  // namespace diopigen::core
