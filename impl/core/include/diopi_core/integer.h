// Integers and bools as kernels see them: every operation is defined for every operand.
//
//   + - * and unary -   wrap around, as unsigned arithmetic does
//   / // %              by zero: 0; the smallest number by -1: wraps
//   from a float        towards zero; NaN gives 0; a value beyond int64 gives the nearest int64, and the narrower types
//                       keep its low bits
//   Bool                + is or, * is and; any nonzero byte is true, and what is written is 0 or 1
#ifndef DIOPI_CORE_INTEGER_H_
#define DIOPI_CORE_INTEGER_H_

#include <cstdint>
#include <type_traits>

#include "diopi_core/host_device.h"

namespace diopigen::core {

// An int64 from a floating value: towards zero, NaN as 0, values out of range as the nearest.
template <typename F>
DIOPI_HOST_DEVICE inline int64_t to_int64(F value) {
    constexpr F kLimit = static_cast<F>(9223372036854775808.0);
    if (!(value < kLimit)) {
        return value != value ? 0 : INT64_MAX;
    }
    return value < -kLimit ? INT64_MIN : static_cast<int64_t>(value);
}

template <typename I>
struct Integer {
    using Unsigned = std::make_unsigned_t<I>;
    // Arithmetic in this type neither overflows a signed type nor is promoted to one.
    using Widened = std::conditional_t<(sizeof(I) < 4), uint32_t, Unsigned>;

    I value;

    Integer() = default;
    template <typename V>
    explicit constexpr Integer(V from) : value(convert(from)) {}
    template <typename J>
    explicit constexpr Integer(Integer<J> from) : value(static_cast<I>(from.value)) {}

    template <typename V, std::enable_if_t<std::is_arithmetic_v<V>, int> = 0>
    explicit constexpr operator V() const {
        return static_cast<V>(value);
    }

    friend constexpr Integer operator+(Integer a, Integer b) { return wrapped(widened(a) + widened(b)); }
    friend constexpr Integer operator-(Integer a, Integer b) { return wrapped(widened(a) - widened(b)); }
    friend constexpr Integer operator*(Integer a, Integer b) { return wrapped(widened(a) * widened(b)); }
    friend constexpr Integer operator-(Integer a) { return wrapped(Widened{0} - widened(a)); }
    friend constexpr Integer operator~(Integer a) { return wrapped(~widened(a)); }
    friend constexpr Integer operator&(Integer a, Integer b) { return wrapped(widened(a) & widened(b)); }
    friend constexpr Integer operator|(Integer a, Integer b) { return wrapped(widened(a) | widened(b)); }
    friend constexpr Integer operator^(Integer a, Integer b) { return wrapped(widened(a) ^ widened(b)); }
    // Division rounded towards zero.
    friend constexpr Integer operator/(Integer a, Integer b) {
        if (b.value == 0) {
            return Integer(0);
        }
        return is_minus_one(b) ? -a : Integer(static_cast<I>(a.value / b.value));
    }
    // The remainder with the sign of the dividend.
    friend constexpr Integer operator%(Integer a, Integer b) {
        return b.value == 0 || is_minus_one(b) ? Integer(0) : Integer(static_cast<I>(a.value % b.value));
    }

    friend constexpr bool operator==(Integer a, Integer b) { return a.value == b.value; }
    friend constexpr bool operator!=(Integer a, Integer b) { return a.value != b.value; }
    friend constexpr bool operator<(Integer a, Integer b) { return a.value < b.value; }
    friend constexpr bool operator<=(Integer a, Integer b) { return a.value <= b.value; }
    friend constexpr bool operator>(Integer a, Integer b) { return a.value > b.value; }
    friend constexpr bool operator>=(Integer a, Integer b) { return a.value >= b.value; }

  private:
    template <typename V>
    static constexpr I convert(V from) {
        if constexpr (std::is_floating_point_v<V>) {
            return static_cast<I>(to_int64(from));
        } else {
            return static_cast<I>(from);
        }
    }
    static constexpr Widened widened(Integer a) { return static_cast<Widened>(a.value); }
    static constexpr Integer wrapped(Widened bits) { return Integer(static_cast<I>(bits)); }
    static constexpr bool is_minus_one(Integer b) { return std::is_signed_v<I> && b.value == static_cast<I>(-1); }
};

using Uint8 = Integer<uint8_t>;
using Int8 = Integer<int8_t>;
using Int16 = Integer<int16_t>;
using Int32 = Integer<int32_t>;
using Int64 = Integer<int64_t>;

struct Bool {
    uint8_t value;

    Bool() = default;
    template <typename V, std::enable_if_t<std::is_arithmetic_v<V>, int> = 0>
    explicit constexpr Bool(V from) : value(from != V{0}) {}
    template <typename I>
    explicit constexpr Bool(Integer<I> from) : value(from.value != 0) {}

    explicit constexpr operator bool() const { return value != 0; }
    template <typename V, std::enable_if_t<std::is_arithmetic_v<V> && !std::is_same_v<V, bool>, int> = 0>
    explicit constexpr operator V() const {
        return static_cast<V>(value != 0);
    }

    friend constexpr Bool operator+(Bool a, Bool b) { return Bool((a.value | b.value) != 0); }
    friend constexpr Bool operator*(Bool a, Bool b) { return Bool(a.value != 0 && b.value != 0); }
    friend constexpr Bool operator&(Bool a, Bool b) { return a * b; }
    friend constexpr Bool operator|(Bool a, Bool b) { return a + b; }
    friend constexpr Bool operator^(Bool a, Bool b) { return Bool((a.value != 0) != (b.value != 0)); }
    friend constexpr Bool operator-(Bool a, Bool b) { return a ^ b; }
    friend constexpr Bool operator-(Bool a) { return a; }
    friend constexpr Bool operator~(Bool a) { return Bool(a.value == 0); }
    friend constexpr Bool operator/(Bool a, Bool b) { return a * b; }
    friend constexpr Bool operator%(Bool, Bool) { return Bool(0); }

    friend constexpr bool operator==(Bool a, Bool b) { return bool(a) == bool(b); }
    friend constexpr bool operator!=(Bool a, Bool b) { return bool(a) != bool(b); }
    friend constexpr bool operator<(Bool a, Bool b) { return bool(a) < bool(b); }
    friend constexpr bool operator<=(Bool a, Bool b) { return bool(a) <= bool(b); }
    friend constexpr bool operator>(Bool a, Bool b) { return b < a; }
    friend constexpr bool operator>=(Bool a, Bool b) { return b <= a; }
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_INTEGER_H_
