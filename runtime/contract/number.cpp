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
        const double down = std::floor(a.asReal() / b.asReal());
        quotient = Number::of(down);
        remainder = Number::of(a.asReal() - down * b.asReal());
        return b.asReal() != 0;
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
            result = Number::of(a.asReal() / b.asReal());
            return b.asReal() != 0;
        case Op::kFloorDivide:
            return divideDown(a, b, result, other);
        case Op::kRemainder:
            return divideDown(a, b, other, result);
        default: {
            const double power = std::pow(a.asReal(), b.asReal());
            const bool isExact = !a.isReal && !b.isReal && b.integer >= 0 && std::fabs(power) < 0x1p53;
            result = isExact ? Number::of(static_cast<int64_t>(power)) : Number::of(power);
            return true;
        }
    }
}

int compare(const Number& a, const Number& b) {
    if (!a.isReal && !b.isReal) {
        return a.integer < b.integer ? -1 : (a.integer > b.integer ? 1 : 0);
    }
    const double left = a.asReal();
    const double right = b.asReal();
    if (std::isnan(left) || std::isnan(right)) {
        return 2;
    }
    return left < right ? -1 : (left > right ? 1 : 0);
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
