"""First part of the source of each fused kernel: numbers, conversions, storages of dtypes, and sums over a row.

A kernel includes <cmath>, <cstdint>, <limits>, <string_view> and <type_traits> of the standard library, and no more.
"""

from __future__ import annotations

import torch

PRELUDE = r"""
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

// The C library has these on vectors, within 4 units in the last place.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define ON_VECTORS __attribute__((simd("notinbranch")))
extern "C" {
ON_VECTORS float expf(float) noexcept;
ON_VECTORS float logf(float) noexcept;
ON_VECTORS float sinf(float) noexcept;
ON_VECTORS float cosf(float) noexcept;
ON_VECTORS float powf(float, float) noexcept;
ON_VECTORS double exp(double) noexcept;
ON_VECTORS double log(double) noexcept;
ON_VECTORS double sin(double) noexcept;
ON_VECTORS double cos(double) noexcept;
ON_VECTORS double pow(double, double) noexcept;
#if __GLIBC__ > 2 || __GLIBC_MINOR__ >= 35
ON_VECTORS float tanhf(float) noexcept;
ON_VECTORS float erff(float) noexcept;
ON_VECTORS float erfcf(float) noexcept;
ON_VECTORS float expm1f(float) noexcept;
ON_VECTORS float log1pf(float) noexcept;
ON_VECTORS float log2f(float) noexcept;
ON_VECTORS float log10f(float) noexcept;
ON_VECTORS float atanf(float) noexcept;
ON_VECTORS float sinhf(float) noexcept;
ON_VECTORS float coshf(float) noexcept;
ON_VECTORS double tanh(double) noexcept;
ON_VECTORS double erf(double) noexcept;
ON_VECTORS double erfc(double) noexcept;
ON_VECTORS double expm1(double) noexcept;
ON_VECTORS double log1p(double) noexcept;
ON_VECTORS double log2(double) noexcept;
ON_VECTORS double log10(double) noexcept;
ON_VECTORS double atan(double) noexcept;
ON_VECTORS double sinh(double) noexcept;
ON_VECTORS double cosh(double) noexcept;
#endif
}
#endif

#define INLINE [[gnu::always_inline]] static inline

namespace {

enum RoundMode { RoundModeNone, RoundModeTrunc, RoundModeFloor };

// Integers of tensors wrap, without undefined overflow.
template <typename T>
struct Integer {
    T value;
    Integer() = default;
    template <typename N>
    INLINE_MEMBER explicit Integer(N number) : value(static_cast<T>(number)) {}
};
template <typename T> struct IsInteger : std::false_type {};
template <typename T> struct IsInteger<Integer<T>> : std::true_type {};
template <typename T> INLINE Integer<T> wrapped(uint64_t bits) { return Integer<T>(bits); }
#define WRAPPED(SIGN)                                                                               \
    template <typename T> INLINE Integer<T> operator SIGN(Integer<T> a, Integer<T> b) {             \
        return wrapped<T>(static_cast<uint64_t>(a.value) SIGN static_cast<uint64_t>(b.value));      \
    }
WRAPPED(+)
WRAPPED(-)
WRAPPED(*)
WRAPPED(&)
WRAPPED(|)
#define COMPARED(SIGN) \
    template <typename T> INLINE bool operator SIGN(Integer<T> a, Integer<T> b) { return a.value SIGN b.value; }
COMPARED(==)
COMPARED(!=)
COMPARED(<)
COMPARED(<=)
COMPARED(>)
COMPARED(>=)
template <typename T> INLINE Integer<T> operator-(Integer<T> a) { return Integer<T>(0) - a; }
template <typename T> INLINE Integer<T> operator~(Integer<T> a) {
    if constexpr (std::is_same<T, bool>::value) {
        return Integer<T>(!a.value);
    } else {
        return wrapped<T>(~static_cast<uint64_t>(a.value));
    }
}
// Towards zero. The divisor is not 0; the smallest number by -1 wraps.
template <typename T> INLINE Integer<T> operator/(Integer<T> a, Integer<T> b) {
    return b == Integer<T>(-1) ? -a : Integer<T>(a.value / b.value);
}

struct Number {
    double number = 0;
    int64_t integer = 0;
    constexpr double value() const { return number; }
    template <typename T>
    INLINE_MEMBER T as() const {
        if constexpr (IsInteger<T>::value) {
            return T(integer);
        } else {
            return static_cast<T>(number);
        }
    }
};
constexpr int64_t wrapped(uint64_t bits) { return static_cast<int64_t>(bits); }
constexpr uint64_t bitsOf(int64_t number) { return static_cast<uint64_t>(number); }
constexpr Number operator+(Number a, Number b) {
    return {a.number + b.number, wrapped(bitsOf(a.integer) + bitsOf(b.integer))};
}
constexpr Number operator-(Number a, Number b) {
    return {a.number - b.number, wrapped(bitsOf(a.integer) - bitsOf(b.integer))};
}
constexpr Number operator*(Number a, Number b) {
    return {a.number * b.number, wrapped(bitsOf(a.integer) * bitsOf(b.integer))};
}

// NaN goes through all functions but sign().
template <typename T> INLINE T where(bool condition, T yes, T no) { return condition ? yes : no; }
template <typename T> INLINE bool isTrue(T x) { return x != T(0); }
template <typename T> INLINE T minimum(T a, T b) { return a < b || a != a ? a : b; }
template <typename T> INLINE T maximum(T a, T b) { return a > b || a != a ? a : b; }
template <typename T> INLINE T sign(T x) { return T((x > T(0)) - (x < T(0))); }
template <typename T> INLINE T absolute(T x) { return std::abs(x); }
template <typename T> INLINE Integer<T> absolute(Integer<T> x) { return x < Integer<T>(0) ? -x : x; }
template <typename T> INLINE T conjugate(T x) { return x; }
template <typename T> INLINE T reciprocal(T x) { return T(1) / x; }
template <typename T> INLINE T rsqrt(T x) { return T(1) / std::sqrt(x); }
template <typename T> INLINE T sigmoid(T x) { return T(1) / (T(1) + std::exp(-x)); }
template <typename T> INLINE T truncDivide(T a, T b) { return std::trunc(a / b); }
template <typename T> INLINE Integer<T> truncDivide(Integer<T> a, Integer<T> b) { return a / b; }
template <typename T> INLINE T floorRemainder(T a, T b) {
    const T rest = std::fmod(a, b);
    return rest != T(0) && (b < T(0)) != (rest < T(0)) ? rest + b : rest;
}
template <typename T> INLINE T floorDivide(T a, T b) {
    if (b == T(0)) {
        return a / b;
    }
    const T rest = std::fmod(a, b);
    const T quotient = (a - rest) / b - (rest != T(0) && (b < T(0)) != (rest < T(0)) ? T(1) : T(0));
    const T floored = std::floor(quotient);
    return quotient == T(0) ? std::copysign(T(0), a / b) : floored + (quotient - floored > T(0.5) ? T(1) : T(0));
}

template <typename T> INLINE Integer<T> floorDivide(Integer<T> a, Integer<T> b) {
    const Integer<T> zero(0), quotient = a / b, rest = a - quotient * b;
    return rest != zero && (b < zero) != (rest < zero) ? quotient - Integer<T>(1) : quotient;
}
template <typename T> INLINE Integer<T> floorRemainder(Integer<T> a, Integer<T> b) {
    return a - floorDivide(a, b) * b;
}

INLINE float bits(uint32_t value) {
    float made;
    __builtin_memcpy(&made, &value, sizeof(made));
    return made;
}
INLINE uint32_t bitsOf(float value) {
    uint32_t made;
    __builtin_memcpy(&made, &value, sizeof(made));
    return made;
}

// A value in another type. Fractions are dropped; a number that is none of int64 counts as the smallest of these.
template <typename To, typename From> INLINE To to(From x) {
    if constexpr (std::is_same<To, From>::value) {
        return x;
    } else if constexpr (!IsInteger<To>::value) {
        if constexpr (IsInteger<From>::value) {
            return static_cast<To>(x.value);
        } else {
            return static_cast<To>(x);
        }
    } else if constexpr (IsInteger<From>::value) {
        return To(x.value);
    } else {
        using Whole = decltype(To::value);
        if constexpr (std::is_same<Whole, bool>::value) {
            return To(x != From(0));
        } else {
            constexpr From below = static_cast<From>(std::numeric_limits<int64_t>::min());
            return To(x >= below && x < -below ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::min());
        }
    }
}

// Storage: what is in memory, as the value that it stands for and back, rounded to nearest, ties to even.
struct Float32 {
    using Element = float;
    using Value = float;
    INLINE float load(float x) { return x; }
    INLINE float store(float x) { return x; }
};
struct Float64 {
    using Element = double;
    using Value = double;
    INLINE double load(double x) { return x; }
    INLINE double store(double x) { return x; }
};
struct Float16 {
    using Element = _Float16;
    using Value = float;
    INLINE float load(_Float16 x) { return static_cast<float>(x); }
    INLINE _Float16 store(float x) { return static_cast<_Float16>(x); }
};
struct Bfloat16 {
    using Element = uint16_t;
    using Value = float;
    INLINE float load(uint16_t x) { return bits(static_cast<uint32_t>(x) << 16); }
    INLINE uint16_t store(float x) {
        const uint32_t raw = bitsOf(x);
        const uint32_t rounded = raw + 0x7FFF + (raw >> 16 & 1);
        return x != x ? static_cast<uint16_t>(raw >> 16 | 0x40) : static_cast<uint16_t>(rounded >> 16);
    }
};
struct Bool {
    using Element = uint8_t;
    using Value = float;
    INLINE float load(uint8_t x) { return x != 0 ? 1.0F : 0.0F; }
    INLINE uint8_t store(float x) { return x != 0 ? 1 : 0; }
};
template <typename T>
struct Whole {
    using Element = T;
    using Value = Integer<T>;
    INLINE Value load(T x) { return Value(x); }
    INLINE T store(Value x) { return x.value; }
};
using Int8 = Whole<int8_t>;
using Uint8 = Whole<uint8_t>;
using Int16 = Whole<int16_t>;
using Int32 = Whole<int32_t>;
using Int64 = Whole<int64_t>;
template <typename Storage, typename From> INLINE typename Storage::Value rounded(From x) {
    if constexpr (std::is_same<Storage, Bool>::value) {
        if constexpr (IsInteger<From>::value) {
            return x.value != 0 ? 1.0F : 0.0F;
        } else {
            return x != From(0) ? 1.0F : 0.0F;
        }
    } else {
        return Storage::load(Storage::store(to<typename Storage::Value>(x)));
    }
}
""".replace("INLINE_MEMBER", "[[gnu::always_inline]] inline constexpr")

ROWS = r"""
// What one value follows from all columns of a row. Columns come in blocks; in each, column j counts for lane j modulo
// 16, and lanes are combined as a tree. So the order depends on the number of columns alone.
constexpr int64_t kBlock = 1024;
constexpr int kLanes = 16;
struct Add {
    template <typename T> INLINE T first() { return T(0); }
    template <typename T> INLINE T both(T a, T b) { return a + b; }
};
struct Largest {
    template <typename T> INLINE T first() {
        if constexpr (IsInteger<T>::value) {
            return T(std::numeric_limits<decltype(T::value)>::lowest());
        } else {
            return -std::numeric_limits<T>::infinity();
        }
    }
    template <typename T> INLINE T both(T a, T b) { return maximum(a, b); }
};
struct Smallest {
    template <typename T> INLINE T first() {
        if constexpr (IsInteger<T>::value) {
            return T(std::numeric_limits<decltype(T::value)>::max());
        } else {
            return std::numeric_limits<T>::infinity();
        }
    }
    template <typename T> INLINE T both(T a, T b) { return minimum(a, b); }
};
// Values are combined in Total: float32 is added in double, as in the operators: a sum is finite where theirs is.
template <typename How, typename T, typename Total = T>
struct Reduction {
    Total total = How::template first<Total>();
    template <int kWidth> INLINE void fold(Total* lanes) {
        for (int j = 0; j < kWidth; ++j) {
            lanes[j] = How::both(lanes[j], lanes[j + kWidth]);
        }
    }
    [[gnu::always_inline]] inline void add(const T* values, int64_t count) {
        alignas(64) Total lanes[kLanes];
        for (int j = 0; j < kLanes; ++j) {
            lanes[j] = How::template first<Total>();
        }
        const int64_t whole = count - count % kLanes;
        for (int64_t i = 0; i < whole; i += kLanes) {
            for (int j = 0; j < kLanes; ++j) {
                lanes[j] = How::both(lanes[j], to<Total>(values[i + j]));
            }
        }
        for (int64_t i = whole; i < count; ++i) {
            lanes[i - whole] = How::both(lanes[i - whole], to<Total>(values[i]));
        }
        fold<8>(lanes);
        fold<4>(lanes);
        fold<2>(lanes);
        fold<1>(lanes);
        total = How::both(total, lanes[0]);
    }
};
"""
"""For kernels with reductions."""

STORAGES = {
    torch.float32: "Float32",
    torch.float64: "Float64",
    torch.float16: "Float16",
    torch.bfloat16: "Bfloat16",
    torch.bool: "Bool",
    torch.int8: "Int8",
    torch.uint8: "Uint8",
    torch.int16: "Int16",
    torch.int32: "Int32",
    torch.int64: "Int64",
}
"""Dtypes in which fused kernels compute. float16 and bfloat16 are computed in float32, and so are masks, as 0 and 1."""

INTEGERS = {dtype for dtype in STORAGES if not dtype.is_floating_point and dtype != torch.bool}


def value_type(dtype: torch.dtype) -> str:
    """The C++ type of a value of a dtype."""
    if dtype in INTEGERS:
        return f"Integer<{str(dtype).removeprefix('torch.')}_t>"
    return "double" if dtype == torch.float64 else "float"
