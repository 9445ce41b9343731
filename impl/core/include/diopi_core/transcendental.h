// Floating and complex functions of kernel expressions: of floats those that compilers vectorise, of complex numbers
// those of the standard library.
#ifndef DIOPI_CORE_TRANSCENDENTAL_H_
#define DIOPI_CORE_TRANSCENDENTAL_H_

#include <cmath>
#include <complex>
#include <limits>

#include "diopi_core/choose.h"
#include "diopi_core/dtype.h"
#include "diopi_core/vector_math.h"

namespace diopigen::core {

template <typename T>
DIOPI_HOST_DEVICE inline T sqrt(T x) {
    return numeric::sqrt(x);
}

#define DIOPI_CPU_FUNCTION(name)            \
    template <typename T>                   \
    DIOPI_HOST_DEVICE inline T name(T x) {  \
        if constexpr (is_complex_type<T>) { \
            return numeric::name(x);        \
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
DIOPI_HOST_DEVICE inline T erf(T x) {
    return vector_math::erf(x);
}

template <typename T>
DIOPI_HOST_DEVICE inline T erfc(T x) {
    return vector_math::erfc(x);
}

template <typename T>
DIOPI_HOST_DEVICE inline T exp2(T x) {
    if constexpr (is_complex_type<T>) {
        return numeric::exp(x * Real<T>(0.6931471805599453));
    } else {
        return vector_math::exp2(x);
    }
}

template <typename T>
DIOPI_HOST_DEVICE inline T log2(T x) {
    if constexpr (is_complex_type<T>) {
        return numeric::log(x) / Real<T>(0.6931471805599453);
    } else {
        return vector_math::log2(x);
    }
}

// Without overflow on either side.
template <typename T>
DIOPI_HOST_DEVICE inline T sigmoid(T x) {
    if constexpr (is_complex_type<T>) {
        return T(1) / (T(1) + numeric::exp(-x));
    } else {
        const T decay = vector_math::exp(-numeric::abs(x));
        return where(x >= 0, T(1), decay) / (T(1) + decay);
    }
}

// The inverse of erf: the estimate of M. Giles, "Approximating the erfinv function" (2012), then Newton's steps on
// erfc, which does not cancel in the tails.
#if defined(__CUDACC__)
DIOPI_HOST_DEVICE inline double erfinv(double x) { return ::erfinv(x); }
#else
double erfinv(double x);
#endif
// The same estimate without branches, then one step on erf in double: within 1 ULP of float.
DIOPI_HOST_DEVICE inline float erfinv(float x) {
    constexpr double kSlope = 1.1283791670955126;  // 2 / sqrt(pi)
    const float size = numeric::abs(x);
    const float w = -where(size < 0.9F, vector_math::log1p(-size * size), vector_math::log((1 - size) * (1 + size)));
    const float a = w - 2.5F;
    float center = 2.81022636e-08F;
    center = center * a + 3.43273939e-07F;
    center = center * a - 3.5233877e-06F;
    center = center * a - 4.39150654e-06F;
    center = center * a + 0.00021858087F;
    center = center * a - 0.00125372503F;
    center = center * a - 0.00417768164F;
    center = center * a + 0.246640727F;
    center = center * a + 1.50140941F;
    const float b = numeric::sqrt(w) - 3;
    float tail = -0.000200214257F;
    tail = tail * b + 0.000100950558F;
    tail = tail * b + 0.00134934322F;
    tail = tail * b - 0.00367342844F;
    tail = tail * b + 0.00573950773F;
    tail = tail * b - 0.0076224613F;
    tail = tail * b + 0.00943887047F;
    tail = tail * b + 1.00167406F;
    tail = tail * b + 2.83297682F;
    const double estimate = static_cast<double>(x) * static_cast<double>(where(w < 5, center, tail));
    const double error = vector_math::erf(estimate) - static_cast<double>(x);
    const auto inner = static_cast<float>(estimate - error / (kSlope * vector_math::exp(-estimate * estimate)));
    const float beyond = where(size == 1, numeric::copysign(std::numeric_limits<float>::infinity(), x),
                               std::numeric_limits<float>::quiet_NaN());
    return where(size < 1, inner, beyond);
}

#if defined(__CUDACC__)
DIOPI_HOST_DEVICE inline double lgamma(double x) { return ::lgamma(x); }
#else
double lgamma(double x);
#endif
DIOPI_HOST_DEVICE inline float lgamma(float x) { return static_cast<float>(lgamma(static_cast<double>(x))); }

}  // namespace diopigen::core

#endif  // DIOPI_CORE_TRANSCENDENTAL_H_
