// Floating and complex functions of kernel expressions: of floats those that compilers vectorise, of complex numbers
// those of the standard library.
#ifndef DIOPI_CPU_TRANSCENDENTAL_H_
#define DIOPI_CPU_TRANSCENDENTAL_H_

#include <cmath>
#include <complex>

#include "diopi_cpu/choose.h"
#include "diopi_cpu/dtype.h"
#include "diopi_cpu/vector_math.h"

namespace diopi::cpu {

template <typename T>
inline T sqrt(T x) {
    return std::sqrt(x);
}

#define DIOPI_CPU_FUNCTION(name)            \
    template <typename T>                   \
    inline T name(T x) {                    \
        if constexpr (is_complex_type<T>) { \
            return std::name(x);            \
        } else {                            \
            return vector_math::name(x);    \
        }                                   \
    }

DIOPI_CPU_FUNCTION(exp)
DIOPI_CPU_FUNCTION(expm1)
DIOPI_CPU_FUNCTION(log)
DIOPI_CPU_FUNCTION(log10)
DIOPI_CPU_FUNCTION(log1p)
DIOPI_CPU_FUNCTION(sin)
DIOPI_CPU_FUNCTION(cos)
DIOPI_CPU_FUNCTION(tan)
DIOPI_CPU_FUNCTION(asin)
DIOPI_CPU_FUNCTION(acos)
DIOPI_CPU_FUNCTION(atan)
DIOPI_CPU_FUNCTION(sinh)
DIOPI_CPU_FUNCTION(cosh)
DIOPI_CPU_FUNCTION(tanh)
DIOPI_CPU_FUNCTION(asinh)
DIOPI_CPU_FUNCTION(acosh)
DIOPI_CPU_FUNCTION(atanh)
#undef DIOPI_CPU_FUNCTION

// Of real numbers only.
template <typename T>
inline T erf(T x) {
    return vector_math::erf(x);
}

template <typename T>
inline T erfc(T x) {
    return std::erfc(x);
}

template <typename T>
inline T exp2(T x) {
    if constexpr (is_complex_type<T>) {
        return std::exp(x * Real<T>(0.6931471805599453));
    } else {
        return vector_math::exp2(x);
    }
}

template <typename T>
inline T log2(T x) {
    if constexpr (is_complex_type<T>) {
        return std::log(x) / Real<T>(0.6931471805599453);
    } else {
        return vector_math::log2(x);
    }
}

// Without overflow on either side.
template <typename T>
inline T sigmoid(T x) {
    if constexpr (is_complex_type<T>) {
        return T(1) / (T(1) + std::exp(-x));
    } else {
        const T decay = vector_math::exp(-std::abs(x));
        return where(x >= 0, T(1), decay) / (T(1) + decay);
    }
}

// The inverse of erf: the estimate of M. Giles, "Approximating the erfinv function" (2012), then Newton's steps on
// erfc, which does not cancel in the tails.
double erfinv(double x);
inline float erfinv(float x) { return static_cast<float>(erfinv(static_cast<double>(x))); }

double lgamma(double x);
inline float lgamma(float x) { return static_cast<float>(lgamma(static_cast<double>(x))); }

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_TRANSCENDENTAL_H_
