#include "number.h"

#include <cmath>
#include <limits>

namespace diopigen::contract {

// What an int64 does not hold becomes real, so that it is compared and not ignored.
bool add(const Number& a, const Number& b, Number& result) {
    int64_t sum = 0;
    const bool is_exact = !a.is_real && !b.is_real && !__builtin_add_overflow(a.integer, b.integer, &sum);
    result = is_exact ? Number::of(sum) : Number::of(a.as_real() + b.as_real());
    return true;
}

bool multiply(const Number& a, const Number& b, Number& result) {
    int64_t product = 0;
    const bool is_exact = !a.is_real && !b.is_real && !__builtin_mul_overflow(a.integer, b.integer, &product);
    result = is_exact ? Number::of(product) : Number::of(a.as_real() * b.as_real());
    return true;
}

bool negate(const Number& a, Number& result) {
    int64_t opposite = 0;
    const bool is_exact = !a.is_real && !__builtin_sub_overflow(int64_t{0}, a.integer, &opposite);
    result = is_exact ? Number::of(opposite) : Number::of(-a.as_real());
    return true;
}

bool divide_down(const Number& a, const Number& b, Number& quotient, Number& remainder) {
    if (a.is_real || b.is_real) {
        // From the exact remainder, as Python does: the quotient may be rounded up to the next integer.
        const double divisor = b.as_real();
        double rest = std::fmod(a.as_real(), divisor);
        const bool is_below = rest != 0 && (rest < 0) != (divisor < 0);
        const double down = (a.as_real() - rest) / divisor - (is_below ? 1 : 0);
        rest += is_below ? divisor : 0;
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
    const double rounded = std::pow(a.as_real(), b.as_real());
    Number exact = Number::of(int64_t{1});
    Number factor = a;
    for (int64_t rest = b.is_real ? 0 : b.integer; rest > 0; rest /= 2) {
        if (rest % 2 != 0) {
            multiply(Number(exact), factor, exact);
        }
        multiply(Number(factor), Number(factor), factor);
    }
    const bool is_exact = !a.is_real && !b.is_real && b.integer >= 0 && !exact.is_real;
    result = is_exact ? exact : Number::of(rounded);
    return std::isfinite(rounded) || !std::isfinite(a.as_real()) || !std::isfinite(b.as_real());
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
            result = Number::of(a.is_real || b.is_real ? a.as_real() / b.as_real()
                                                       : static_cast<double>(static_cast<long double>(a.integer) /
                                                                             static_cast<long double>(b.integer)));
            return b.as_real() != 0;
        case Op::kFloorDivide:
            return divide_down(a, b, result, other);
        case Op::kRemainder:
            return divide_down(a, b, other, result);
        default:
            return power(a, b, result);
    }
}

int compare(const Number& a, const Number& b) {
    if (!a.is_real && !b.is_real) {
        return a.integer < b.integer ? -1 : (a.integer > b.integer ? 1 : 0);
    }
    if (std::isnan(a.as_real()) || std::isnan(b.as_real())) {
        return 2;
    }
    if (!a.is_real && std::fabs(b.real) < 0x1p63) {
        // Without rounding the integer.
        const double whole = std::floor(b.real);
        const int order = compare(a, Number::of(static_cast<int64_t>(whole)));
        return order == 0 && whole < b.real ? -1 : order;
    }
    if (!b.is_real) {
        return -compare(b, a);
    }
    return a.as_real() < b.real ? -1 : (a.as_real() > b.real ? 1 : 0);
}

bool is_satisfied(Op op, int order) {
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

bool is_comparison(Op op) { return op >= Op::kEqual && op <= Op::kGreaterEqual; }

}  // namespace diopigen::contract
