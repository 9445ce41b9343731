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
// A kernel computes in the floating type that it is called with. Where a tensor has another dtype or another shape than
// its flags allow, the loop returns diopiForceFallbackToCPU before anything has happened.
#ifndef DIOPIGEN_ELEMENTWISE_FUNCTIONS_H_
#define DIOPIGEN_ELEMENTWISE_FUNCTIONS_H_

#include <diopi/diopirt.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>

// Kernels run on the device: a vendor whose compiler wants words for that defines them ahead (`__host__ __device__`).
#ifndef DIOPIGEN_DEVICE
#define DIOPIGEN_DEVICE
#endif

namespace diopigen {
namespace elementwise {

enum Flags : unsigned {
    kPlain = 0,
    kBroadcasts = 1,  // its shape need only broadcast to that of the results; without it must be the same
    kTruth = 2,       // bool instead of the floating dtype that all others share
    kOptional = 4,    // may be null: reads as 0, and is not written
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

// ---- Arguments, on the host. ----

// A scalar argument; null, and dtypes that are no numbers, are left to others.
class Number {
  public:
    explicit Number(const diopiScalar_t* scalar) : scalar_(scalar) {}
    bool isNumber() const { return scalar_ != nullptr && (isReal() || isWhole()); }
    double value() const {
        return scalar_ == nullptr ? 0 : isReal() ? scalar_->fval : static_cast<double>(scalar_->ival);
    }

  private:
    bool isReal() const {
        return scalar_->stype == diopi_dtype_float16 || scalar_->stype == diopi_dtype_bfloat16 ||
               scalar_->stype == diopi_dtype_float32 || scalar_->stype == diopi_dtype_float64;
    }
    bool isWhole() const {
        return scalar_->stype == diopi_dtype_int8 || scalar_->stype == diopi_dtype_uint8 ||
               scalar_->stype == diopi_dtype_int16 || scalar_->stype == diopi_dtype_uint16 ||
               scalar_->stype == diopi_dtype_int32 || scalar_->stype == diopi_dtype_uint32 ||
               scalar_->stype == diopi_dtype_int64 || scalar_->stype == diopi_dtype_uint64 ||
               scalar_->stype == diopi_dtype_bool;
    }

    const diopiScalar_t* scalar_;
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

// ---- Functions of floating elements, on the device. NaN goes through all of them but sign(). ----

template <typename T>
DIOPIGEN_DEVICE T where(bool condition, T yes, T no) {
    return condition ? yes : no;
}
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
