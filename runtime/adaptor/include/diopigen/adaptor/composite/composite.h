// What composite operators are written with: tensors as values, computed by other public functions of the interface.
//
// A public function may be a shim, so that whatever the vendor's kernels cannot take is converted on the way. Half
// precision is computed in float32. Nothing is written to the caller's tensors before the last step.
#ifndef DIOPIGEN_ADAPTOR_COMPOSITE_COMPOSITE_H_
#define DIOPIGEN_ADAPTOR_COMPOSITE_COMPOSITE_H_

#include <diopi/functions.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "../error.h"
#include "../geometry.h"
#include "../host_services.h"

namespace diopigen {
namespace adaptor {
namespace {

class Composite;
using Sizes = std::vector<std::int64_t>;

inline diopiSize_t asSize(const Sizes& sizes) {
    return diopiSize_t{sizes.empty() ? nullptr : sizes.data(), static_cast<std::int64_t>(sizes.size())};
}

// A tensor, or a number where `tensor` is null.
struct Value {
    Composite* owner;
    diopiConstTensorHandle_t tensor;
    double number;
};

// Calls a public function, unless something has failed before.
#define DIOPIGEN_ADAPTOR_COMPOSITE_CALL(composite, function, ...) (composite).call(#function, function, __VA_ARGS__)

class Composite {
  public:
    // The compute dtype is that of `like`, an output.
    Composite(const Helpers& helpers, diopiContextHandle_t ctx, const char* function, diopiConstTensorHandle_t like)
        : helpers_(helpers), ctx_(ctx), function_(function), dtype_(dtypeOf(like)) {
        if (dtype_ == diopi_dtype_float16 || dtype_ == diopi_dtype_bfloat16) {
            dtype_ = diopi_dtype_float32;
        }
    }
    Composite(const Composite&) = delete;
    Composite& operator=(const Composite&) = delete;
    ~Composite() {
        if (diopiHostReleaseTemporary != nullptr) {
            for (const diopiTensorHandle_t temporary : temporaries_) {
                static_cast<void>(diopiHostReleaseTemporary(ctx_, temporary));
            }
        }
    }

    diopiError_t status() const { return status_; }
    bool good() const { return status_ == diopiSuccess; }
    diopiDtype_t dtype() const { return dtype_; }

    void refuse(diopiError_t status, const char* reason) {
        if (good()) {
            status_ = fail(helpers_, status, "%s: %s", function_, reason);
        }
    }

    template <class... Parameters, class... Arguments>
    void call(const char* name, diopiError_t (*function)(diopiContextHandle_t, Parameters...), Arguments... arguments) {
        if (!good()) {
            return;
        }
        if (function == nullptr) {
            status_ =
                fail(helpers_, diopiNoImplement, "%s: its composite needs %s, which the vendor lacks", function_, name);
            return;
        }
        const diopiError_t status = function(ctx_, arguments...);
        if (status != diopiSuccess) {
            char inner[sizeof(LastError::text)];
            std::snprintf(inner, sizeof(inner), "%s", lastErrorText(helpers_, nullptr));
            status_ = fail(helpers_, status, "%s: its composite calls %s, which failed with status %d%s%s", function_,
                           name, static_cast<int>(status), inner[0] == '\0' ? "" : ": ", inner);
        }
    }

    // ---- Values ----

    Value number(double value) { return Value{this, nullptr, value}; }

    Value number(const diopiScalar_t* scalar) {
        const bool floating = isFloating(scalar->stype);
        return number(floating ? scalar->fval : static_cast<double>(scalar->ival));
    }

    // A tensor of the caller, in the compute dtype.
    Value tensor(diopiConstTensorHandle_t handle) {
        if (handle == nullptr || !good() || dtypeOf(handle) == dtype_) {
            return Value{this, handle, 0.0};
        }
        const diopiTensorHandle_t cast = make(shape(handle), dtype_);
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(*this, diopiCastDtype, cast, handle);
        return Value{this, cast, 0.0};
    }

    diopiTensorHandle_t make(const Sizes& sizes, diopiDtype_t dtype) {
        diopiTensorHandle_t made = nullptr;
        if (!good()) {
            return made;
        }
        const diopiSize_t size = asSize(sizes);
        const Strides stride = rowMajorStrides(size);
        const diopiSize_t strides = stride.asSize();
        const diopiError_t status = diopiRequireTensor(ctx_, &made, &size, &strides, dtype, diopi_device);
        if (status != diopiSuccess || made == nullptr) {
            status_ = fail(helpers_, status == diopiSuccess ? diopiErrorOccurred : status,
                           "%s: diopiRequireTensor failed with status %d", function_, static_cast<int>(status));
            return nullptr;
        }
        temporaries_.push_back(made);
        return made;
    }
    diopiTensorHandle_t make(const Sizes& sizes) { return make(sizes, dtype_); }

    Sizes shape(diopiConstTensorHandle_t handle) {
        diopiSize_t size = {nullptr, 0};
        if (!good() || handle == nullptr) {
            return {};
        }
        const diopiError_t status = diopiGetTensorShape(handle, &size);
        if (status != diopiSuccess) {
            status_ = fail(helpers_, status, "%s: diopiGetTensorShape failed with status %d", function_,
                           static_cast<int>(status));
            return {};
        }
        return size.len == 0 ? Sizes() : Sizes(size.data, size.data + size.len);
    }

    // A tensor for a value that is a number: 0-d.
    Value materialised(Value value) {
        if (value.tensor != nullptr) {
            return value;
        }
        const diopiTensorHandle_t made = make({});
        const diopiScalar_t scalar = asScalar(value.number);
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(*this, diopiFill, made, &scalar);
        return Value{this, made, 0.0};
    }

    diopiScalar_t asScalar(double value) const {
        diopiScalar_t scalar;
        if (isFloating(dtype_) || value != std::trunc(value)) {
            scalar.stype = diopi_dtype_float64;
            scalar.fval = value;
        } else {
            scalar.stype = diopi_dtype_int64;
            scalar.ival = static_cast<std::int64_t>(value);
        }
        return scalar;
    }

    // The last step: the result in the dtype and layout of the caller's tensor. Null is not wanted.
    void store(diopiTensorHandle_t out, Value value) {
        if (out == nullptr) {
            return;
        }
        if (value.tensor != nullptr && shape(value.tensor) != shape(out)) {
            refuse(diopiErrorOccurred, "an output does not have the shape of the result");
        }
        const Value result = materialised(value);
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(*this, diopiCopyInp, result.tensor, out);
    }

    static diopiDtype_t dtypeOf(diopiConstTensorHandle_t tensor) {
        diopiDtype_t dtype = diopi_dtype_unsupported;
        return tensor != nullptr && diopiGetTensorDtype(tensor, &dtype) == diopiSuccess ? dtype
                                                                                        : diopi_dtype_unsupported;
    }

    static bool isFloating(diopiDtype_t dtype) {
        return dtype == diopi_dtype_float16 || dtype == diopi_dtype_bfloat16 || dtype == diopi_dtype_float32 ||
               dtype == diopi_dtype_float64 || dtype == diopi_dtype_tfloat32;
    }

  private:
    const Helpers& helpers_;
    const diopiContextHandle_t ctx_;
    const char* const function_;
    diopiDtype_t dtype_;
    diopiError_t status_ = diopiSuccess;
    std::vector<diopiTensorHandle_t> temporaries_;
};

inline Sizes broadcast(const Sizes& left, const Sizes& right) {
    Sizes result(left.size() > right.size() ? left.size() : right.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
        const std::int64_t a = i < left.size() ? left[left.size() - 1 - i] : 1;
        const std::int64_t b = i < right.size() ? right[right.size() - 1 - i] : 1;
        result[result.size() - 1 - i] = a == 1 ? b : a;
    }
    return result;
}

inline Value resultOf(Value like, Value other) {
    Composite& c = *like.owner;
    return Value{&c, c.make(broadcast(c.shape(like.tensor), c.shape(other.tensor))), 0.0};
}

inline diopiTensorHandle_t writable(Value made) { return const_cast<diopiTensorHandle_t>(made.tensor); }

// ---- Arithmetic. Numbers among themselves are computed here and now. ----

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

inline Value absolute(Value v) {
    return v.tensor == nullptr ? v.owner->number(std::fabs(v.number)) : apply("diopiAbs", diopiAbs, v);
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

// Truth values of left < right, as a bool tensor or the numbers 0 and 1.
inline Value operator<(Value left, Value right) {
    Composite& c = *left.owner;
    if (left.tensor == nullptr && right.tensor == nullptr) {
        return c.number(left.number < right.number ? 1.0 : 0.0);
    }
    left = c.materialised(left);
    right = c.materialised(right);
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

// ---- Reductions. Where no shape is given the dimensions stay, with one element. ----

inline Sizes kept(Sizes sizes, const Sizes& dims) {
    for (const std::int64_t dim : dims) {
        sizes[static_cast<std::size_t>(dim)] = 1;
    }
    return sizes;
}

// Dimensions as 0 and more; none means all. A dimension that there is not is an error of the call.
inline Sizes dimensions(Composite& c, const Sizes& shape, const std::int64_t* dims, std::int64_t count) {
    const std::int64_t rank = static_cast<std::int64_t>(shape.size());
    Sizes found;
    for (std::int64_t i = 0; i < (count == 0 ? rank : count); ++i) {
        const std::int64_t dim = count == 0 ? i : (dims[i] < 0 ? dims[i] + (rank == 0 ? 1 : rank) : dims[i]);
        if (dim < 0 || dim >= (rank == 0 ? 1 : rank)) {
            c.refuse(diopiErrorOccurred, "a dimension lies outside of the input's");
            return {};
        }
        if (rank > 0) {
            found.push_back(dim);
        }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            if (found[i] == found[k]) {
                c.refuse(diopiErrorOccurred, "a dimension is named twice");
                return {};
            }
        }
    }
    return found;
}

inline double elementsIn(const Sizes& shape, const Sizes& dims) {
    double count = 1.0;
    for (const std::int64_t dim : dims) {
        count *= static_cast<double>(shape[static_cast<std::size_t>(dim)]);
    }
    return count;
}

// `result` says whether the dimensions stay; without dimensions there is nothing to sum.
inline Value sum(Value value, const Sizes& dims, const Sizes& result) {
    Composite& c = *value.owner;
    if (dims.empty()) {
        return value;
    }
    Sizes dropped;
    const Sizes shape = c.shape(value.tensor);
    for (std::size_t i = 0; i < shape.size(); ++i) {
        bool reduced = false;
        for (const std::int64_t dim : dims) {
            reduced = reduced || dim == static_cast<std::int64_t>(i);
        }
        if (!reduced) {
            dropped.push_back(shape[i]);
        }
    }
    if (result != dropped && result != kept(shape, dims)) {
        c.refuse(diopiErrorOccurred, "an output does not have the shape of the result");
    }
    const Value total{&c, c.make(result), 0.0};
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiSum, writable(total), value.tensor, asSize(dims));
    return total;
}

inline Value sum(Value value, const Sizes& dims) {
    return dims.empty() ? value : sum(value, dims, kept(value.owner->shape(value.tensor), dims));
}

inline Value mean(Value value, const Sizes& dims) {
    Composite& c = *value.owner;
    return sum(value, dims) / c.number(elementsIn(c.shape(value.tensor), dims));
}

inline Value largest(Value value, std::int64_t dim) {
    Composite& c = *value.owner;
    const Sizes dims = {dim};
    const Sizes sizes = kept(c.shape(value.tensor), dims);
    const Value result{&c, c.make(sizes), 0.0};
    if (diopiAmax != nullptr) {
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiAmax, writable(result), value.tensor, asSize(dims), true);
    } else {
        const diopiTensorHandle_t indices = c.make(sizes, diopi_dtype_int64);
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiMax, writable(result), indices, value.tensor, dim);
    }
    return result;
}

// ---- Matrices ----

inline Value transposed(Value value, std::int64_t first, std::int64_t second) {
    Composite& c = *value.owner;
    Sizes sizes = c.shape(value.tensor);
    if (!c.good()) {
        return value;
    }
    const std::int64_t held = sizes[static_cast<std::size_t>(first)];
    sizes[static_cast<std::size_t>(first)] = sizes[static_cast<std::size_t>(second)];
    sizes[static_cast<std::size_t>(second)] = held;
    const Value result{&c, c.make(sizes), 0.0};
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiTranspose, writable(result), value.tensor, first, second);
    return result;
}

inline Value permuted(Value value, const Sizes& order) {
    Composite& c = *value.owner;
    const Sizes sizes = c.shape(value.tensor);
    Sizes moved;
    for (std::size_t i = 0; i < order.size() && c.good(); ++i) {
        moved.push_back(sizes[static_cast<std::size_t>(order[i])]);
    }
    const Value result{&c, c.make(moved), 0.0};
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiPermute, writable(result), value.tensor, asSize(order));
    return result;
}

// The product over the last two dimensions; those before them are equal on both sides, or missing on the right.
inline Value product(Value left, Value right) {
    Composite& c = *left.owner;
    Sizes sizes = c.shape(left.tensor);
    const Sizes other = c.shape(right.tensor);
    if (!c.good()) {
        return left;
    }
    sizes.back() = other.back();
    const Value result{&c, c.make(sizes), 0.0};
    if (diopiMatmul != nullptr || sizes.size() < 2 || sizes.size() > 3 || sizes.size() != other.size()) {
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiMatmul, writable(result), left.tensor, right.tensor);
    } else if (sizes.size() == 2) {
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiMm, writable(result), left.tensor, right.tensor);
    } else {
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiBmm, writable(result), left.tensor, right.tensor);
    }
    return result;
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_COMPOSITE_H_
