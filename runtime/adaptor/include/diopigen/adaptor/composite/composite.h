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
#include <initializer_list>
#include <vector>

#include "../error.h"
#include "../geometry.h"
#include "../host_services.h"
#include "../rule.h"

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

#define DIOPIGEN_ADAPTOR_COMPOSITE_CALL(composite, function, ...) (composite).call(#function, function, __VA_ARGS__)

class Composite {
  public:
    // Computed in the dtype of `like`, the output called `parameter`, and where that lies.
    Composite(const Helpers& helpers, diopiContextHandle_t ctx, const char* function, const char* parameter,
              diopiConstTensorHandle_t like)
        : helpers_(helpers), ctx_(ctx), function_(function) {
        notNull(parameter, like);
        dtype_ = computed(dtypeOf(like));
        device_ = deviceOf(like);
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

    diopiDtype_t dtype() const { return dtype_; }

    // The dtype of absolute values.
    diopiDtype_t realDtype() const { return dtypeFacts(dtype_).real; }

    // An operand of a promotion; null is none.
    struct Operand {
        diopiDtype_t dtype;
        Promotion::Class of;
    };
    Operand operand(diopiConstTensorHandle_t tensor) {
        return {dtypeOf(tensor),
                tensor != nullptr && shape(tensor).empty() ? Promotion::kZeroDimensional : Promotion::kDimensioned};
    }
    Operand operand(const diopiScalar_t* scalar) const {
        return {scalar == nullptr                                                ? diopi_dtype_unsupported
                : isFloating(scalar->stype) || scalar->stype == diopi_dtype_bool ? scalar->stype
                                                                                 : diopi_dtype_int64,
                Promotion::kNumber};
    }

    // Computes from here on in what the operands are promoted to, which `out` must be able to hold.
    void computeIn(diopiConstTensorHandle_t out, std::initializer_list<Operand> operands) {
        Promotion promotion;
        for (const Operand& operand : operands) {
            if (operand.dtype != diopi_dtype_unsupported) {
                promotion.add(operand.dtype, operand.of);
            }
        }
        const diopiDtype_t dtype = promotion.result();
        if (dtype == diopi_dtype_unsupported && !promotion.isEmpty()) {
            reject(diopiDtypeNotSupported, "no dtype holds what the inputs hold");
        }
        if (dtypeCategory(dtype) > dtypeCategory(dtypeOf(out))) {
            reject(diopiDtypeNotSupported, "the output cannot hold what the inputs are promoted to");
        }
        dtype_ = computed(dtype);
    }

    // Every failure ends the composite at once: these throw Stopped.
    [[noreturn]] void reject(diopiError_t status, const char* reason) {
        throw Stopped{fail(helpers_, status, "%s: %s", function_, reason)};
    }

    // What the interface demands of single parameters. `dtypes` has a bit for each dtype that is accepted.
    void notNull(const char* parameter, const void* value) {
        if (value == nullptr) {
            throw Stopped{fail(helpers_, diopiErrorOccurred, "%s: parameter '%s' is null", function_, parameter)};
        }
    }
    void oneOf(const char* parameter, const char* text, std::initializer_list<const char*> known) {
        for (const char* each : known) {
            if (std::strcmp(text, each) == 0) {
                return;
            }
        }
        throw Stopped{fail(helpers_, diopiErrorOccurred, "%s: parameter '%s' is '%s', which is none of its texts",
                           function_, parameter, text)};
    }
    void accept(const char* parameter, diopiConstTensorHandle_t tensor, std::uint32_t dtypes) {
        const unsigned dtype = tensor == nullptr ? 0U : static_cast<unsigned>(dtypeOf(tensor));
        if (tensor != nullptr && (dtype >= dtypeCount || ((dtypes >> dtype) & 1U) == 0)) {
            throw Stopped{fail(helpers_, diopiDtypeNotSupported, "%s: parameter '%s' must not be %s", function_,
                               parameter, dtypeName(dtypeOf(tensor)))};
        }
    }
    void acceptSame(const char* parameter, diopiConstTensorHandle_t tensor, diopiConstTensorHandle_t other) {
        if (tensor != nullptr && other != nullptr && dtypeOf(tensor) != dtypeOf(other)) {
            throw Stopped{fail(helpers_, diopiDtypeNotSupported, "%s: parameter '%s' must not be %s with %s", function_,
                               parameter, dtypeName(dtypeOf(tensor)), dtypeName(dtypeOf(other)))};
        }
    }

    // A public function.
    template <class... Parameters, class... Arguments>
    void call(const char* name, diopiError_t (*function)(diopiContextHandle_t, Parameters...), Arguments... arguments) {
        if (function == nullptr) {
            throw Stopped{fail(helpers_, diopiNoImplement, "%s: its composite needs %s, which the vendor lacks",
                               function_, name)};
        }
        clearLastError();
        const diopiError_t status = function(ctx_, arguments...);
        if (status != diopiSuccess) {
            char inner[sizeof(LastError::text)];
            std::snprintf(inner, sizeof(inner), "%s", lastErrorText(helpers_, nullptr));
            throw Stopped{fail(helpers_, status, "%s: its composite calls %s, which failed with status %d%s%s",
                               function_, name, static_cast<int>(status), inner[0] == '\0' ? "" : ": ", inner)};
        }
    }

    // ---- Values ----

    Value number(double value) { return Value{this, nullptr, value}; }

    static double valueOf(const diopiScalar_t* scalar) {
        return isFloating(scalar->stype) ? scalar->fval : static_cast<double>(scalar->ival);
    }
    // Integral operands drop the fraction of a parameter that takes no part in promotion.
    Value number(const diopiScalar_t* scalar) {
        const double value = valueOf(scalar);
        return number(dtypeCategory(dtype_) <= 1 ? std::trunc(value) : value);
    }
    // A factor must fit integral operands.
    Value factor(double value) {
        if (dtypeCategory(dtype_) <= 1 && value != std::trunc(value)) {
            reject(diopiErrorOccurred, "a number has a fractional part and the tensors are integral");
        }
        return number(value);
    }

    // A tensor of the caller, in the compute dtype.
    Value tensor(diopiConstTensorHandle_t handle) {
        if (handle == nullptr || dtypeOf(handle) == dtype_) {
            return Value{this, handle, 0.0};
        }
        const diopiTensorHandle_t cast = make(shape(handle), dtype_);
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(*this, diopiCastDtype, cast, handle);
        return Value{this, cast, 0.0};
    }

    diopiTensorHandle_t make(const Sizes& sizes, diopiDtype_t dtype) {
        const diopiSize_t size = asSize(sizes);
        const Strides stride = rowMajorStrides(size);
        const diopiSize_t strides = stride.asSize();
        diopiTensorHandle_t created = nullptr;
        temporaries_.reserve(temporaries_.size() + 1);
        require("diopiRequireTensor", diopiRequireTensor(ctx_, &created, &size, &strides, dtype, device_));
        if (created == nullptr) {
            reject(diopiErrorOccurred, "diopiRequireTensor gave no tensor");
        }
        temporaries_.push_back(created);
        return created;
    }
    diopiTensorHandle_t make(const Sizes& sizes) { return make(sizes, dtype_); }

    // Of null there is none, and no sizes.
    Sizes shape(diopiConstTensorHandle_t handle) {
        diopiSize_t size = {nullptr, 0};
        if (handle != nullptr) {
            require("diopiGetTensorShape", diopiGetTensorShape(handle, &size));
        }
        return size.len == 0 ? Sizes() : Sizes(size.data, size.data + size.len);
    }

    // A tensor for a value that is a number: 0-d.
    Value materialised(Value value) { return materialised(value, dtype_); }
    Value materialised(Value value, diopiDtype_t dtype) {
        if (value.tensor != nullptr) {
            return value;
        }
        const diopiTensorHandle_t created = make({}, dtype);
        const diopiScalar_t scalar = asScalar(value.number);
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(*this, diopiFill, created, &scalar);
        return Value{this, created, 0.0};
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

    // A result, for finish() to hand over. Null is not wanted.
    void store(diopiTensorHandle_t out, Value value) {
        if (out == nullptr) {
            return;
        }
        if (value.tensor != nullptr && shape(value.tensor) != shape(out)) {
            reject(diopiErrorOccurred, "an output does not have the shape of the result");
        }
        if (deviceOf(out) != device_) {
            reject(diopiErrorOccurred, "the outputs are not on one device");
        }
        results_.push_back({out, materialised(value).tensor});
    }

    // The last step: the results in the dtypes and layouts of the caller's tensors.
    diopiError_t finish() {
        for (const Result& result : results_) {
            DIOPIGEN_ADAPTOR_COMPOSITE_CALL(*this, diopiCopyInp, result.value, result.out);
        }
        return diopiSuccess;
    }

    // Unsupported for null.
    diopiDtype_t dtypeOf(diopiConstTensorHandle_t tensor) {
        diopiDtype_t dtype = diopi_dtype_unsupported;
        if (tensor != nullptr) {
            require("diopiGetTensorDtype", diopiGetTensorDtype(tensor, &dtype));
        }
        return dtype;
    }

    static bool isFloating(diopiDtype_t dtype) { return dtypeCategory(dtype) == 2; }

    // Half precision is computed in single precision.
    static diopiDtype_t computed(diopiDtype_t dtype) { return dtypeFacts(dtype).compute; }

  private:
    struct Result {
        diopiTensorHandle_t out;
        diopiConstTensorHandle_t value;
    };

    diopiDevice_t deviceOf(diopiConstTensorHandle_t tensor) {
        diopiDevice_t device = diopi_device;
        if (diopiGetTensorDevice != nullptr) {
            require("diopiGetTensorDevice", diopiGetTensorDevice(tensor, &device));
        }
        return device;
    }

    // A question to the host has to be answered.
    void require(const char* name, diopiError_t status) {
        if (status != diopiSuccess) {
            throw Stopped{
                fail(helpers_, status, "%s: %s failed with status %d", function_, name, static_cast<int>(status))};
        }
    }

    const Helpers& helpers_;
    const diopiContextHandle_t ctx_;
    const char* const function_;
    diopiDtype_t dtype_ = diopi_dtype_unsupported;
    diopiDevice_t device_ = diopi_device;
    std::vector<diopiTensorHandle_t> temporaries_;
    std::vector<Result> results_;
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

inline diopiTensorHandle_t writable(Value created) { return const_cast<diopiTensorHandle_t>(created.tensor); }

// ---- New tensors ----

inline diopiScalar_t integer(std::int64_t value) {
    diopiScalar_t scalar;
    scalar.stype = diopi_dtype_int64;
    scalar.ival = value;
    return scalar;
}

inline Value filled(Composite& c, const Sizes& sizes, double value) {
    const diopiTensorHandle_t created = c.make(sizes);
    const diopiScalar_t scalar = c.asScalar(value);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiFill, created, &scalar);
    return Value{&c, created, 0.0};
}

// first, first + 1, ... : `count` numbers.
inline Value positions(Composite& c, std::int64_t first, std::int64_t count) {
    const diopiTensorHandle_t created = c.make({count});
    const diopiScalar_t start = integer(first);
    const diopiScalar_t end = integer(first + count);
    const diopiScalar_t step = integer(1);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiArange, created, &start, &end, &step);
    return Value{&c, created, 0.0};
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_COMPOSITE_H_
