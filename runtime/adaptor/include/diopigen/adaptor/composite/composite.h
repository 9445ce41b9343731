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

#define DIOPIGEN_ADAPTOR_COMPOSITE_CALL(composite, function, ...) (composite).call(#function, function, __VA_ARGS__)

class Composite {
  public:
    // Computed in the dtype of `like`, an output, and where that lies.
    Composite(const Helpers& helpers, diopiContextHandle_t ctx, const char* function, diopiConstTensorHandle_t like)
        : helpers_(helpers), ctx_(ctx), function_(function) {
        notNull(like);
        require("diopiGetTensorDtype", diopiGetTensorDtype(like, &dtype_));
        if (dtype_ == diopi_dtype_float16 || dtype_ == diopi_dtype_bfloat16) {
            dtype_ = diopi_dtype_float32;
        }
        if (diopiGetTensorDevice != nullptr) {
            require("diopiGetTensorDevice", diopiGetTensorDevice(like, &device_));
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

    diopiDtype_t dtype() const { return dtype_; }

    // Every failure ends the composite at once: these throw Stopped.
    [[noreturn]] void refuse(diopiError_t status, const char* reason) {
        throw Stopped{fail(helpers_, status, "%s: %s", function_, reason)};
    }

    // For every tensor that may not be null.
    void notNull(diopiConstTensorHandle_t tensor) {
        if (tensor == nullptr) {
            refuse(diopiErrorOccurred, "a tensor is null that may not be");
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

    Value number(const diopiScalar_t* scalar) {
        const bool floating = isFloating(scalar->stype);
        return number(floating ? scalar->fval : static_cast<double>(scalar->ival));
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
        diopiTensorHandle_t made = nullptr;
        temporaries_.reserve(temporaries_.size() + 1);
        require("diopiRequireTensor", diopiRequireTensor(ctx_, &made, &size, &strides, dtype, device_));
        if (made == nullptr) {
            refuse(diopiErrorOccurred, "diopiRequireTensor gave no tensor");
        }
        temporaries_.push_back(made);
        return made;
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

    // A result, for finish() to hand over. Null is not wanted.
    void store(diopiTensorHandle_t out, Value value) {
        if (out == nullptr) {
            return;
        }
        if (value.tensor != nullptr && shape(value.tensor) != shape(out)) {
            refuse(diopiErrorOccurred, "an output does not have the shape of the result");
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
    struct Result {
        diopiTensorHandle_t out;
        diopiConstTensorHandle_t value;
    };

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

inline diopiTensorHandle_t writable(Value made) { return const_cast<diopiTensorHandle_t>(made.tensor); }

// ---- New tensors ----

inline diopiScalar_t integer(std::int64_t value) {
    diopiScalar_t scalar;
    scalar.stype = diopi_dtype_int64;
    scalar.ival = value;
    return scalar;
}

inline Value filled(Composite& c, const Sizes& sizes, double value) {
    const diopiTensorHandle_t made = c.make(sizes);
    const diopiScalar_t scalar = c.asScalar(value);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiFill, made, &scalar);
    return Value{&c, made, 0.0};
}

// first, first + 1, ... : `count` numbers.
inline Value positions(Composite& c, std::int64_t first, std::int64_t count) {
    const diopiTensorHandle_t made = c.make({count});
    const diopiScalar_t start = integer(first);
    const diopiScalar_t end = integer(first + count);
    const diopiScalar_t step = integer(1);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiArange, made, &start, &end, &step);
    return Value{&c, made, 0.0};
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_COMPOSITE_H_
