// The functions of kernel expressions over the compute types. docs/spec.md says what each means.
#ifndef DIOPI_CORE_MATH_H_
#define DIOPI_CORE_MATH_H_

#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "diopi_core/cast.h"
#include "diopi_core/choose.h"
#include "diopi_core/dtype.h"
#include "diopi_core/transcendental.h"

namespace diopigen::core {

template <typename T>
DIOPI_HOST_DEVICE inline bool is_true(T x) {
    return static_cast<bool>(cast<Bool>(x));
}
DIOPI_HOST_DEVICE inline bool is_true(bool x) { return x; }

// ---- Order: NaN wins in minimum and maximum, loses in fmin and fmax. ----
// `a < b ? a : b` is one instruction of x86, which has b where either is NaN.

template <typename T>
DIOPI_HOST_DEVICE inline T minimum(T a, T b) {
    if constexpr (is_float_type<T>) {
        return where(a != a, a, a < b ? a : b);
    } else {
        return where(a < b, a, b);
    }
}

template <typename T>
DIOPI_HOST_DEVICE inline T maximum(T a, T b) {
    if constexpr (is_float_type<T>) {
        return where(a != a, a, a > b ? a : b);
    } else {
        return where(a > b, a, b);
    }
}

template <typename T>
DIOPI_HOST_DEVICE inline T fmin(T a, T b) {
    if constexpr (is_float_type<T>) {
        return where(b != b, a, a < b ? a : b);
    } else {
        return where(a < b, a, b);
    }
}

template <typename T>
DIOPI_HOST_DEVICE inline T fmax(T a, T b) {
    if constexpr (is_float_type<T>) {
        return where(b != b, a, a > b ? a : b);
    } else {
        return where(a > b, a, b);
    }
}

// A value that is not above any other: minus infinity where there is one.
template <typename T>
DIOPI_HOST_DEVICE inline T lowest() {
    if constexpr (is_float_type<T>) {
        return -std::numeric_limits<T>::infinity();
    } else {
        return T(std::numeric_limits<decltype(T::value)>::lowest());
    }
}

// ---- Division. ----

template <typename T>
DIOPI_HOST_DEVICE inline T trunc_divide(T a, T b) {
    if constexpr (is_float_type<T>) {
        return numeric::trunc(a / b);
    } else {
        return a / b;
    }
}

template <typename T>
DIOPI_HOST_DEVICE inline T floor_divide(T a, T b) {
    if constexpr (is_float_type<T>) {
        // Exact also where a / b would round up to the next integer (as Python and torch.floor_divide).
        const T ratio = a / b;
        const T rest = vector_math::fmod(a, b);
        const bool is_below = (rest != 0) & ((b < 0) != (rest < 0));
        const T quotient = (a - rest) / b - where(is_below, T(1), T(0));
        const T floored = numeric::floor(quotient);
        const T integral = floored + where(quotient - floored > T(0.5), T(1), T(0));
        return where(b == 0, ratio, where(quotient == 0, numeric::copysign(T(0), ratio), integral));
    } else if constexpr (is_complex_type<T>) {
        return a / b;
    } else {
        const T quotient = a / b;
        const bool is_inexact = a % b != T(0);
        return is_inexact && (a < T(0)) != (b < T(0)) ? quotient - T(1) : quotient;
    }
}

// The remainder with the sign of the divisor.
template <typename T>
DIOPI_HOST_DEVICE inline T remainder(T a, T b) {
    if constexpr (is_float_type<T>) {
        const T rest = vector_math::fmod(a, b);
        return where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest);
    } else {
        const T rest = a % b;
        return rest != T(0) && (b < T(0)) != (rest < T(0)) ? rest + b : rest;
    }
}

// The remainder with the sign of the dividend.
template <typename T>
DIOPI_HOST_DEVICE inline T fmod(T a, T b) {
    if constexpr (is_float_type<T>) {
        return vector_math::fmod(a, b);
    } else {
        return a % b;
    }
}

// ---- Powers and roots. ----

template <typename T>
DIOPI_HOST_DEVICE inline T power(T base, T exponent) {
    if constexpr (is_float_type<T>) {
        return vector_math::pow(base, exponent);
    } else if constexpr (is_complex_type<T>) {
        // Not by way of the logarithm, which zero has not.
        return exponent == T(0) ? T(1) : numeric::pow(base, exponent);
    } else if constexpr (std::is_same_v<T, Bool>) {
        return base | ~exponent;
    } else {
        if (exponent < T(0)) {
            // The integral part of 1 / base^n: 0 but for 1 and -1.
            if (base == T(1)) {
                return base;
            }
            return base == -T(1) ? (exponent & T(1)) == T(0) ? T(1) : base : T(0);
        }
        T result(1);
        for (auto left = static_cast<uint64_t>(exponent.value); left != 0; left >>= 1) {
            if (left & 1) {
                result = result * base;
            }
            base = base * base;
        }
        return result;
    }
}

template <typename T>
DIOPI_HOST_DEVICE inline T square(T x) {
    return x * x;
}

template <typename T>
DIOPI_HOST_DEVICE inline T reciprocal(T x) {
    return T(1) / x;
}

template <typename T>
DIOPI_HOST_DEVICE inline T rsqrt(T x) {
    return T(1) / numeric::sqrt(x);
}

template <typename T>
DIOPI_HOST_DEVICE inline T hypot(T a, T b) {
    return vector_math::hypot(a, b);
}

template <typename T>
DIOPI_HOST_DEVICE inline T atan2(T a, T b) {
    return vector_math::atan2(a, b);
}

// ---- Sign and rounding: integers stay as they are. ----

template <typename T>
DIOPI_HOST_DEVICE inline Real<T> absolute(T x) {
    if constexpr (is_float_type<T> || is_complex_type<T>) {
        return numeric::abs(x);
    } else {
        return x < T(0) ? -x : x;
    }
}

// Of NaN it is 0, as torch.sign has it.
template <typename T>
DIOPI_HOST_DEVICE inline T sign(T x) {
    if constexpr (is_float_type<T>) {
        return where(x > 0, T(1), where(x < 0, T(-1), T(0)));
    } else if constexpr (std::is_same_v<T, Bool>) {
        return x;
    } else {
        return T((x > T(0)) - (x < T(0)));
    }
}

template <typename T>
DIOPI_HOST_DEVICE inline T sgn(T x) {
    if constexpr (is_complex_type<T>) {
        const Real<T> length = numeric::abs(x);
        return length == 0 ? T(0) : x / length;
    } else {
        return sign(x);
    }
}

#define DIOPI_CPU_ROUNDING(name, function) \
    template <typename T>                  \
    DIOPI_HOST_DEVICE inline T name(T x) { \
        if constexpr (is_float_type<T>) {  \
            return numeric::function(x);   \
        } else {                           \
            return x;                      \
        }                                  \
    }

DIOPI_CPU_ROUNDING(floor, floor)
DIOPI_CPU_ROUNDING(ceil, ceil)
DIOPI_CPU_ROUNDING(trunc, trunc)
DIOPI_CPU_ROUNDING(round, nearbyint)
#undef DIOPI_CPU_ROUNDING

template <typename T>
DIOPI_HOST_DEVICE inline bool isnan(T x) {
    return x != x;
}

template <typename T>
DIOPI_HOST_DEVICE inline bool isinf(T x) {
    if constexpr (is_float_type<T>) {
        return numeric::isinf(x);
    } else if constexpr (is_complex_type<T>) {
        return numeric::isinf(x.real()) || numeric::isinf(x.imag());
    } else {
        return false;
    }
}

template <typename T>
DIOPI_HOST_DEVICE inline bool isfinite(T x) {
    return !isnan(x) && !isinf(x);
}

// ---- Complex numbers. ----

template <typename T>
DIOPI_HOST_DEVICE inline T conj(T x) {
    if constexpr (is_complex_type<T>) {
        return numeric::conj(x);
    } else {
        return x;
    }
}

template <typename T>
DIOPI_HOST_DEVICE inline Real<T> real(T x) {
    if constexpr (is_complex_type<T>) {
        return x.real();
    } else {
        return x;
    }
}

template <typename T>
DIOPI_HOST_DEVICE inline Real<T> imag(T x) {
    if constexpr (is_complex_type<T>) {
        return x.imag();
    } else {
        return T(0);
    }
}

template <typename T>
DIOPI_HOST_DEVICE inline numeric::complex<T> complex(T real, T imag) {
    return {real, imag};
}

// Not std::polar, which leaves negative and infinite lengths undefined.
template <typename T>
DIOPI_HOST_DEVICE inline numeric::complex<T> polar(T length, T angle) {
    return {length * cos(angle), length * sin(angle)};
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_MATH_H_
