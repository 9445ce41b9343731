#include "number.h"

#include <cmath>
#include <limits>

namespace diopigen::contract {

// What an int64 does not hold becomes real, so that it is compared and not ignored.
bool add(const Number& a, const Number& b, Number& result) {
    int64_t sum = 0;
    const bool isExact = !a.isReal && !b.isReal && !__builtin_add_overflow(a.integer, b.integer, &sum);
    result = isExact ? Number::of(sum) : Number::of(a.asReal() + b.asReal());
    return true;
}

bool multiply(const Number& a, const Number& b, Number& result) {
    int64_t product = 0;
    const bool isExact = !a.isReal && !b.isReal && !__builtin_mul_overflow(a.integer, b.integer, &product);
    result = isExact ? Number::of(product) : Number::of(a.asReal() * b.asReal());
    return true;
}

bool negate(const Number& a, Number& result) {
    int64_t opposite = 0;
    const bool isExact = !a.isReal && !__builtin_sub_overflow(int64_t{0}, a.integer, &opposite);
    result = isExact ? Number::of(opposite) : Number::of(-a.asReal());
    return true;
}

bool divideDown(const Number& a, const Number& b, Number& quotient, Number& remainder) {
    if (a.isReal || b.isReal) {
        // From the exact remainder, as Python does: the quotient may be rounded up to the next integer.
        const double divisor = b.asReal();
        double rest = std::fmod(a.asReal(), divisor);
        const bool isBelow = rest != 0 && (rest < 0) != (divisor < 0);
        const double down = (a.asReal() - rest) / divisor - (isBelow ? 1 : 0);
        rest += isBelow ? divisor : 0;
        quotient = Number::of(std::floor(down) + (down - std::floor(down) > 0.5 ? 1 : 0));
        remainder = Number::of(rest);
        return divisor != 0;
    }
    if (b.integer == 0 || (a.integer == std::numeric_limits<int64_t>::min() && b.integer == -1)) {
        return false;
    }
    int64_t down = a.integer / b.integer;
    int64_t rest = a.integer % b.integer;
    if (rest != 0 && (rest < 0) != (b.integer < 0)) {
        --down;
        rest += b.integer;
    }
    quotient = Number::of(down);
    remainder = Number::of(rest);
    return true;
}

namespace {

// Exact where int64 has it. Without a value where it is complex, or beyond all doubles.
bool power(const Number& a, const Number& b, Number& result) {
    const double rounded = std::pow(a.asReal(), b.asReal());
    Number exact = Number::of(int64_t{1});
    Number factor = a;
    for (int64_t rest = b.isReal ? 0 : b.integer; rest > 0; rest /= 2) {
        if (rest % 2 != 0) {
            multiply(Number(exact), factor, exact);
        }
        multiply(Number(factor), Number(factor), factor);
    }
    const bool isExact = !a.isReal && !b.isReal && b.integer >= 0 && !exact.isReal;
    result = isExact ? exact : Number::of(rounded);
    return std::isfinite(rounded) || !std::isfinite(a.asReal()) || !std::isfinite(b.asReal());
}

}  // namespace

bool arithmetic(Op op, const Number& a, const Number& b, Number& result) {
    Number other;
    switch (op) {
        case Op::kAdd:
            return add(a, b, result);
        case Op::kSubtract:
            return negate(b, other) && add(a, other, result);
        case Op::kMultiply:
            return multiply(a, b, result);
        case Op::kDivide:
            // Integers are not rounded before.
            result = Number::of(a.isReal || b.isReal ? a.asReal() / b.asReal()
                                                     : static_cast<double>(static_cast<long double>(a.integer) /
                                                                           static_cast<long double>(b.integer)));
            return b.asReal() != 0;
        case Op::kFloorDivide:
            return divideDown(a, b, result, other);
        case Op::kRemainder:
            return divideDown(a, b, other, result);
        default:
            return power(a, b, result);
    }
}

int compare(const Number& a, const Number& b) {
    if (!a.isReal && !b.isReal) {
        return a.integer < b.integer ? -1 : (a.integer > b.integer ? 1 : 0);
    }
    if (std::isnan(a.asReal()) || std::isnan(b.asReal())) {
        return 2;
    }
    if (!a.isReal && std::fabs(b.real) < 0x1p63) {
        // Without rounding the integer.
        const double whole = std::floor(b.real);
        const int order = compare(a, Number::of(static_cast<int64_t>(whole)));
        return order == 0 && whole < b.real ? -1 : order;
    }
    if (!b.isReal) {
        return -compare(b, a);
    }
    return a.asReal() < b.real ? -1 : (a.asReal() > b.real ? 1 : 0);
}

bool isSatisfied(Op op, int order) {
    switch (op) {
        case Op::kEqual:
            return order == 0;
        case Op::kNotEqual:
            return order != 0;
        case Op::kLess:
            return order == -1;
        case Op::kLessEqual:
            return order == -1 || order == 0;
        case Op::kGreater:
            return order == 1;
        default:
            return order == 1 || order == 0;
    }
}

bool isComparison(Op op) { return op >= Op::kEqual && op <= Op::kGreaterEqual; }

}  // namespace diopigen::contract
