// Powers by the exponents that are used most, without pow: a product, a quotient or a root. Within 1 ULP in float32,
// where more than one product is calculated in double, but for -1/2 (1.5 ULP); in float64 within 2 ULP. Special values
// are those of pow.
//
// The templates are for numbers, and for vectors of numbers where `widened` and `square_root` of these were declared
// before this file is included. They bear no mark of an instruction set: each has vectors of its own types.
#ifndef DIOPI_CORE_SIMPLE_POWERS_H_
#define DIOPI_CORE_SIMPLE_POWERS_H_

#include <cmath>
#include <limits>

#include "diopi_core/host_device.h"

namespace diopigen::core {

template <typename Function>
float widened(float value, Function function) {
    return static_cast<float>(function(static_cast<double>(value)));
}
template <typename Function>
double widened(double value, Function function) {
    return function(value);
}
inline float square_root(float value) { return std::sqrt(value); }
inline double square_root(double value) { return std::sqrt(value); }

// Powers of pow's sign and specials: the root of minus infinity is infinity, that of minus zero is zero.
template <typename Value, typename Scalar>
Value power_half(Value value, Scalar infinity) {
    const Value root = square_root(value) + Scalar(0);
    return value == -infinity ? infinity - Value{} : root;
}

struct Cube {
    template <typename Value>
    Value operator()(Value x) const {
        return x * x * x;
    }
};
struct Fourth {
    template <typename Value>
    Value operator()(Value x) const {
        const Value square = x * x;
        return square * square;
    }
};
// The reciprocal first: the square of a number overflows before the reciprocal of the square vanishes.
struct InverseSquare {
    template <typename Value>
    Value operator()(Value x) const {
        const Value inverse = 1 / x;
        return inverse * inverse;
    }
};

// `base` to the power of `exponent`, one number for all of `base`. False where pow has to work it out.
template <typename Value, typename Scalar>
bool simple_power(const Value& base, Scalar exponent, Value* result) {
    constexpr Scalar kInfinity = std::numeric_limits<Scalar>::infinity();
    if (exponent == 2) {
        *result = base * base;
    } else if (exponent == Scalar(0.5)) {
        *result = power_half(base, kInfinity);
    } else if (exponent == -1) {
        *result = 1 / base;
    } else if (exponent == 3) {
        *result = widened(base, Cube());
    } else if (exponent == -2) {
        *result = widened(base, InverseSquare());
    } else if (exponent == Scalar(-0.5)) {
        *result = 1 / power_half(base, kInfinity);
    } else if (exponent == 4) {
        *result = widened(base, Fourth());
    } else if (exponent == 1) {
        *result = base;
    } else if (exponent == 0) {
        *result = Value{} + 1;  // of NaN too, of whatever kind
    } else {
        return false;
    }
    return true;
}

// pow of numbers. Devices have their own.
template <typename T>
DIOPI_HOST_DEVICE inline T scalar_power(T base, T exponent) {
#if !defined(__CUDACC__)
    T result;
    if (simple_power(base, exponent, &result)) {
        return result;
    }
#endif
    return numeric::pow(base, exponent);
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_SIMPLE_POWERS_H_
