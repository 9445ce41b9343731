// Values element by element, as the operators of C++. Numbers among themselves are computed here and now.
#ifndef DIOPIGEN_ADAPTOR_COMPOSITE_ARITHMETIC_H_
#define DIOPIGEN_ADAPTOR_COMPOSITE_ARITHMETIC_H_

#include <diopi/functions.h>

#include <cmath>

#include "composite.h"

namespace diopigen {
namespace adaptor {
namespace {

inline Value operator*(Value left, Value right) {
    Composite& c = *left.owner;
    if (left.tensor == nullptr && right.tensor == nullptr) {
        return c.number(left.number * right.number);
    }
    const Value result = resultOf(left, right);
    if (left.tensor != nullptr && right.tensor != nullptr) {
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiMul, writable(result), left.tensor, right.tensor);
    } else {
        const diopiScalar_t scalar = c.asScalar(left.tensor == nullptr ? left.number : right.number);
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiMulScalar, writable(result),
                                        left.tensor == nullptr ? right.tensor : left.tensor, &scalar);
    }
    return result;
}

inline Value operator+(Value left, Value right) {
    Composite& c = *left.owner;
    if (left.tensor == nullptr && right.tensor == nullptr) {
        return c.number(left.number + right.number);
    }
    const diopiScalar_t one = c.asScalar(1.0);
    const Value result = resultOf(left, right);
    if (left.tensor != nullptr && right.tensor != nullptr) {
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiAdd, writable(result), left.tensor, right.tensor, &one);
    } else {
        const diopiScalar_t scalar = c.asScalar(left.tensor == nullptr ? left.number : right.number);
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiAddScalar, writable(result),
                                        left.tensor == nullptr ? right.tensor : left.tensor, &scalar, &one);
    }
    return result;
}

inline Value operator-(Value value) { return value * value.owner->number(-1.0); }

inline Value operator-(Value left, Value right) {
    if (left.tensor == nullptr || right.tensor == nullptr) {
        return left + -right;
    }
    Composite& c = *left.owner;
    const diopiScalar_t one = c.asScalar(1.0);
    const Value result = resultOf(left, right);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiSub, writable(result), left.tensor, right.tensor, &one);
    return result;
}

inline Value operator/(Value left, Value right) {
    Composite& c = *left.owner;
    if (left.tensor == nullptr && right.tensor == nullptr) {
        return c.number(left.number / right.number);
    }
    if (left.tensor == nullptr) {
        left = c.materialised(left);
    }
    const Value result = resultOf(left, right);
    if (right.tensor == nullptr) {
        const diopiScalar_t scalar = c.asScalar(right.number);
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiDivScalar, writable(result), left.tensor, &scalar, RoundModeNone);
    } else {
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiDiv, writable(result), left.tensor, right.tensor, RoundModeNone);
    }
    return result;
}

inline Value operator*(double left, Value right) { return right.owner->number(left) * right; }
inline Value operator*(Value left, double right) { return left * left.owner->number(right); }
inline Value operator+(Value left, double right) { return left + left.owner->number(right); }
inline Value operator-(double left, Value right) { return right.owner->number(left) - right; }
inline Value operator/(double left, Value right) { return right.owner->number(left) / right; }
inline Value operator/(Value left, double right) { return left / left.owner->number(right); }

// ---- Functions of one value ----

using Unary = diopiError_t (*)(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t);

inline Value apply(const char* name, Unary function, Value value) {
    Composite& c = *value.owner;
    const Value result{&c, c.make(c.shape(value.tensor)), 0.0};
    c.call(name, function, writable(result), value.tensor);
    return result;
}

// Real, of complex values too.
inline Value absolute(Value v) {
    Composite& c = *v.owner;
    if (v.tensor == nullptr) {
        return c.number(std::fabs(v.number));
    }
    const Value result{&c, c.make(c.shape(v.tensor), c.realDtype()), 0.0};
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiAbs, writable(result), v.tensor);
    return result;
}
inline Value squareRoot(Value v) {
    return v.tensor == nullptr ? v.owner->number(std::sqrt(v.number)) : apply("diopiSqrt", diopiSqrt, v);
}
inline Value exponential(Value v) { return apply("diopiExp", diopiExp, v); }
inline Value logarithm(Value v) { return apply("diopiLog", diopiLog, v); }
inline Value sigmoid(Value v) { return apply("diopiSigmoid", diopiSigmoid, v); }
inline Value complementaryError(Value v) { return 1.0 - apply("diopiErf", diopiErf, v); }

// ---- Choices ----

inline Value minimum(Value left, Value right) {
    Composite& c = *left.owner;
    left = c.materialised(left);
    right = c.materialised(right);
    const Value result = resultOf(left, right);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiMinimum, writable(result), left.tensor, right.tensor);
    return result;
}

inline Value maximum(Value left, Value right) {
    Composite& c = *left.owner;
    left = c.materialised(left);
    right = c.materialised(right);
    const Value result = resultOf(left, right);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiMaximum, writable(result), left.tensor, right.tensor);
    return result;
}

// Bools of left < right, as a bool tensor or the numbers 0 and 1.
inline Value operator<(Value left, Value right) {
    Composite& c = *left.owner;
    if (left.tensor == nullptr && right.tensor == nullptr) {
        return c.number(left.number < right.number ? 1.0 : 0.0);
    }
    left = left.tensor == nullptr ? c.materialised(left, c.dtypeOf(right.tensor)) : left;
    right = right.tensor == nullptr ? c.materialised(right, c.dtypeOf(left.tensor)) : right;
    const Value result{&c, c.make(broadcast(c.shape(left.tensor), c.shape(right.tensor)), diopi_dtype_bool), 0.0};
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiLt, writable(result), left.tensor, right.tensor);
    return result;
}

inline Value operator<(Value left, double right) { return left < left.owner->number(right); }
inline Value operator<(double left, Value right) { return right.owner->number(left) < right; }

inline Value where(Value condition, Value yes, Value no) {
    Composite& c = *condition.owner;
    if (condition.tensor == nullptr) {
        return condition.number != 0.0 ? yes : no;
    }
    yes = c.materialised(yes);
    no = c.materialised(no);
    const Sizes both = broadcast(c.shape(yes.tensor), c.shape(no.tensor));
    const Value result{&c, c.make(broadcast(both, c.shape(condition.tensor))), 0.0};
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiWhere, writable(result), condition.tensor, yes.tensor, no.tensor);
    return result;
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_ARITHMETIC_H_
