// What elementwise kernels that `diopigen elementwise` writes build on, besides the loop of the vendor.
//
// The vendor's loop is a template in impl/NAME/elementwise.h. It checks the tensors, and calls `function` for each
// element, with the elements of all operands and room for those of all results:
//
//     template <typename Function>
//     diopiError_t elementwise(diopiContextHandle_t ctx, const char* name, Results results, Operands operands,
//                              Function function) {
//         ...                          // device code, for each element:
//         float in[Function::kOperands + 1], out[Function::kResults];
//         function(in, out);
//     }
//
// A kernel computes in the type that it is called with: a floating one, or, where Function::kTakesIntegers, also
// Integer<T>, which wraps; `function.takes<T>()` says whether the numbers of the call are integers of the type T. With
// Function::kTakesBools the same holds for bools, as 0 and 1; what is not zero is stored as 1. Where a tensor has
// another dtype or another shape than its flags allow, the loop returns diopiForceFallbackToCPU before anything has
// happened.
#ifndef DIOPIGEN_ELEMENTWISE_FUNCTIONS_H_
#define DIOPIGEN_ELEMENTWISE_FUNCTIONS_H_

#include <diopi/diopirt.h>
#include <diopigen/half.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>

// Kernels run on the device: a vendor whose compiler wants words for that defines them ahead (`__host__ __device__`).
#ifndef DIOPIGEN_DEVICE
#define DIOPIGEN_DEVICE
#endif

namespace diopigen {
namespace elementwise {

enum Flags : unsigned {
    kPlain = 0,
    kBroadcasts = 1,  // its shape need only broadcast to that of the results; without it must be the same
    kBool = 2,        // bool instead of the floating dtype that all others share
    kOptional = 4,    // may be null: reads as 0, and is not written
    kTruth = kBool,   // its name in vendors' elementwise.h of before
};

struct Operand {
    diopiConstTensorHandle_t tensor;
    unsigned flags = kPlain;
};
struct Result {
    diopiTensorHandle_t tensor;
    unsigned flags = kPlain;
};
using Operands = std::initializer_list<Operand>;
using Results = std::initializer_list<Result>;

// An integer that wraps, as those of tensors do, without undefined overflow.
template <typename T>
struct Integer {
    Integer() = default;
    template <typename N>
    DIOPIGEN_DEVICE explicit Integer(N number) : value(static_cast<T>(number)) {}

    T value = 0;
};
template <typename T>
DIOPIGEN_DEVICE Integer<T> wrapped(uint64_t bits) {
    return Integer<T>(bits);
}
template <typename T>
DIOPIGEN_DEVICE Integer<T> operator+(Integer<T> a, Integer<T> b) {
    return wrapped<T>(static_cast<uint64_t>(a.value) + static_cast<uint64_t>(b.value));
}
template <typename T>
DIOPIGEN_DEVICE Integer<T> operator-(Integer<T> a, Integer<T> b) {
    return wrapped<T>(static_cast<uint64_t>(a.value) - static_cast<uint64_t>(b.value));
}
template <typename T>
DIOPIGEN_DEVICE Integer<T> operator*(Integer<T> a, Integer<T> b) {
    return wrapped<T>(static_cast<uint64_t>(a.value) * static_cast<uint64_t>(b.value));
}
template <typename T>
DIOPIGEN_DEVICE Integer<T> operator-(Integer<T> a) {
    return Integer<T>(0) - a;
}
template <typename T>
DIOPIGEN_DEVICE bool operator==(Integer<T> a, Integer<T> b) {
    return a.value == b.value;
}
template <typename T>
DIOPIGEN_DEVICE bool operator!=(Integer<T> a, Integer<T> b) {
    return a.value != b.value;
}
template <typename T>
DIOPIGEN_DEVICE bool operator<(Integer<T> a, Integer<T> b) {
    return a.value < b.value;
}
template <typename T>
DIOPIGEN_DEVICE bool operator<=(Integer<T> a, Integer<T> b) {
    return a.value <= b.value;
}
template <typename T>
DIOPIGEN_DEVICE bool operator>(Integer<T> a, Integer<T> b) {
    return a.value > b.value;
}
template <typename T>
DIOPIGEN_DEVICE bool operator>=(Integer<T> a, Integer<T> b) {
    return a.value >= b.value;
}
template <typename T>
struct IsInteger : std::false_type {};
template <typename T>
struct IsInteger<Integer<T>> : std::true_type {};

// ---- Arguments, on the host. ----

// A scalar argument by value; null, and dtypes that are no numbers, are left to others.
class Number {
  public:
    Number() = default;
    explicit Number(const diopiScalar_t* scalar) {
        if (scalar == nullptr) {
            return;
        }
        switch (scalar->stype) {
            case diopi_dtype_float16:
            case diopi_dtype_bfloat16:
            case diopi_dtype_float32:
            case diopi_dtype_float64:
                kind_ = Kind::floating;
                value_ = scalar->fval;
                break;
            case diopi_dtype_int8:
            case diopi_dtype_uint8:
            case diopi_dtype_int16:
            case diopi_dtype_uint16:
            case diopi_dtype_int32:
            case diopi_dtype_uint32:
            case diopi_dtype_int64:
            case diopi_dtype_uint64:
            case diopi_dtype_bool:
                kind_ = Kind::integer;
                integer_ = scalar->ival;
                value_ = static_cast<double>(scalar->ival);
                break;
            default:
                break;
        }
    }
    bool isNumber() const { return kind_ != Kind::none; }
    bool isFloating() const { return kind_ == Kind::floating; }
    double value() const { return value_; }
    int64_t integer() const { return integer_; }

    // Whether it is an integer, or a bool, that T has; bool has 0 and 1.
    template <typename T>
    bool fits() const {
        return kind_ == Kind::integer && static_cast<int64_t>(static_cast<T>(integer_)) == integer_;
    }
    // The same number as an integer where it is one. For numbers that are cast to the dtype of a tensor: any other
    // float makes integers floats.
    Number cast() const {
        constexpr double kExact = 9007199254740992;  // integers below it are doubles
        Number same = *this;
        if (isFloating() && std::abs(value_) < kExact && std::trunc(value_) == value_) {
            same.kind_ = Kind::integer;
            same.integer_ = static_cast<int64_t>(value_);
        }
        return same;
    }
    // A number that is compared, or divided with a remainder: rounded to the dtype of the tensor if that is of 16 bits.
    Number roundedTo(diopiConstTensorHandle_t tensor) const {
        diopiDtype_t dtype = diopi_dtype_unsupported;
        Number rounded = *this;
        if (tensor == nullptr || diopiGetTensorDtype(tensor, &dtype) != diopiSuccess) {
            return rounded;
        }
        if (dtype == diopi_dtype_float16) {
            rounded.value_ = float_of_half(half_of_float(static_cast<float>(value_)));
        } else if (dtype == diopi_dtype_bfloat16) {
            rounded.value_ = float_of_bfloat16(bfloat16_of_float(static_cast<float>(value_)));
        }
        return rounded;
    }
    // As the type that a kernel computes in.
    template <typename T>
    DIOPIGEN_DEVICE T as() const {
        return IsInteger<T>::value ? static_cast<T>(integer_) : static_cast<T>(value_);
    }

    friend Number operator+(const Number& a, const Number& b) {
        return {a, b, a.value_ + b.value_, Integer<int64_t>(a.integer_) + Integer<int64_t>(b.integer_)};
    }
    friend Number operator-(const Number& a, const Number& b) {
        return {a, b, a.value_ - b.value_, Integer<int64_t>(a.integer_) - Integer<int64_t>(b.integer_)};
    }
    friend Number operator*(const Number& a, const Number& b) {
        return {a, b, a.value_ * b.value_, Integer<int64_t>(a.integer_) * Integer<int64_t>(b.integer_)};
    }

  private:
    enum class Kind { none, floating, integer };
    // What follows from two numbers is floating where one of them is.
    Number(const Number& a, const Number& b, double value, Integer<int64_t> integer)
        : kind_(a.kind_ == Kind::none || b.kind_ == Kind::none ? Kind::none
                : a.isFloating() || b.isFloating()             ? Kind::floating
                                                               : Kind::integer),
          value_(value),
          integer_(integer.value) {}

    Kind kind_ = Kind::none;
    double value_ = 0;
    int64_t integer_ = 0;
};

inline bool isOneOf(const char* text, std::initializer_list<const char*> words) {
    for (const char* word : words) {
        if (text != nullptr && std::strcmp(text, word) == 0) {
            return true;
        }
    }
    return false;
}

inline bool hasDtype(diopiConstTensorHandle_t tensor, std::initializer_list<diopiDtype_t> dtypes) {
    diopiDtype_t found = diopi_dtype_unsupported;
    if (tensor == nullptr || diopiGetTensorDtype(tensor, &found) != diopiSuccess) {
        return false;
    }
    for (const diopiDtype_t dtype : dtypes) {
        if (dtype == found) {
            return true;
        }
    }
    return false;
}

// ---- Elements, on the device. NaN goes through all functions but sign(). ----

template <typename T>
DIOPIGEN_DEVICE T where(bool condition, T yes, T no) {
    return condition ? yes : no;
}
// Both conditions, or either, without a branch.
DIOPIGEN_DEVICE inline bool both(bool one, bool other) { return one & other; }
DIOPIGEN_DEVICE inline bool either(bool one, bool other) { return one | other; }
template <typename T>
DIOPIGEN_DEVICE bool isTrue(T x) {
    return x != T(0);
}
template <typename T>
DIOPIGEN_DEVICE T minimum(T a, T b) {
    return a < b || a != a ? a : b;
}
template <typename T>
DIOPIGEN_DEVICE T maximum(T a, T b) {
    return a > b || a != a ? a : b;
}
template <typename T>
DIOPIGEN_DEVICE T sign(T x) {
    return T((x > T(0)) - (x < T(0)));
}
template <typename T>
DIOPIGEN_DEVICE T absolute(T x) {
    return std::abs(x);
}
template <typename T>
DIOPIGEN_DEVICE Integer<T> absolute(Integer<T> x) {
    return x < Integer<T>(0) ? -x : x;
}
template <typename T>
DIOPIGEN_DEVICE T conjugate(T x) {
    return x;
}
template <typename T>
DIOPIGEN_DEVICE T reciprocal(T x) {
    return T(1) / x;
}
template <typename T>
DIOPIGEN_DEVICE T rsqrt(T x) {
    return T(1) / std::sqrt(x);
}
template <typename T>
DIOPIGEN_DEVICE T sigmoid(T x) {
    return T(1) / (T(1) + std::exp(-x));
}
template <typename T>
DIOPIGEN_DEVICE T truncDivide(T a, T b) {
    return std::trunc(a / b);
}
template <typename T>
DIOPIGEN_DEVICE T floorRemainder(T a, T b) {
    const T rest = std::fmod(a, b);
    return rest != T(0) && (b < T(0)) != (rest < T(0)) ? rest + b : rest;
}
// Exact also where a / b rounds up to the next whole number.
template <typename T>
DIOPIGEN_DEVICE T floorDivide(T a, T b) {
    if (b == T(0)) {
        return a / b;
    }
    const T rest = std::fmod(a, b);
    const T quotient = (a - rest) / b - (rest != T(0) && (b < T(0)) != (rest < T(0)) ? T(1) : T(0));
    const T floored = std::floor(quotient);
    return quotient == T(0) ? std::copysign(T(0), a / b) : floored + (quotient - floored > T(0.5) ? T(1) : T(0));
}

}  // namespace elementwise
}  // namespace diopigen

#endif  // DIOPIGEN_ELEMENTWISE_FUNCTIONS_H_
