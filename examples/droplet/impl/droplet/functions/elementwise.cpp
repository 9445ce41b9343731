// Elementwise operators of droplet.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "droplet/kernel.h"

namespace impl {
namespace droplet {

namespace {

constexpr double kSqrt2 = 1.4142135623730951;
constexpr double kSqrt2OverPi = 0.7978845608028654;  // of 2 / pi

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double erfGelu(double x) { return x * 0.5 * (1 + std::erf(x / kSqrt2)); }
double tanhGelu(double x) { return 0.5 * x * (1 + std::tanh(kSqrt2OverPi * (x + 0.044715 * x * x * x))); }
double erfGeluSlope(double x) { return 0.5 * (1 + std::erf(x / kSqrt2)) + x * std::exp(-x * x / 2) * kSqrt2OverPi / 2; }
double tanhGeluSlope(double x) {
    const double inner = std::tanh(kSqrt2OverPi * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + inner) + 0.5 * x * (1 - inner * inner) * kSqrt2OverPi * (1 + 3 * 0.044715 * x * x);
}

// Floats of one dtype and shape, element by element; the inputs in the order of the function's parameters.
template <typename Function, typename... Tensors>
diopiError_t map(diopiContextHandle_t ctx, const char* name, Function f, diopiTensorHandle_t out, Tensors... inputs) {
    Call call(ctx, name);
    call.out(out);
    const bool isPlain = ((call.sameShape(call.in(inputs), 0)) && ...);
    if (!isPlain || !call.isOneFloat()) {
        return kLeave;
    }
    return call.run([f](const Kernel& k) {
        if constexpr (sizeof...(Tensors) == 1) {
            Values x = load(k, 1);
            std::transform(x.begin(), x.end(), x.begin(), f);
            store(k, 0, x);
        } else {
            const Values x = load(k, 1);
            Values y = load(k, 2);
            std::transform(x.begin(), x.end(), y.begin(), y.begin(), f);
            store(k, 0, y);
        }
    });
}

// Two operands of one dtype with broadcasting. Whole numbers only where the result is exact before it wraps.
template <typename Function>
diopiError_t binary(diopiContextHandle_t ctx, const char* name, diopiTensorHandle_t out, diopiConstTensorHandle_t a,
                    diopiConstTensorHandle_t b, bool takesIntegers, Function f) {
    Call call(ctx, name);
    call.out(out);
    call.in(a);
    call.in(b);
    const Shape& shape = call.shape(0);
    Shape joined(static_cast<size_t>(std::max(call.rank(1), call.rank(2))), 1);
    for (const int k : {1, 2}) {
        for (int64_t i = 1; i <= call.rank(k); ++i) {
            const int64_t size = call.shape(k)[call.rank(k) - i];
            int64_t& together = joined[joined.size() - i];
            if (size != 1 && together != 1 && size != together) {
                return kLeave;
            }
            together = size == 1 ? together : size;
        }
    }
    const bool isInteger = takesIntegers && call.dtype(0) == diopi_dtype_int32 && call.dtype(1) == diopi_dtype_int32 &&
                           call.dtype(2) == diopi_dtype_int32;
    if (shape != joined || !(call.isOneFloat() || isInteger)) {
        return kLeave;
    }
    return call.run([f, shape](const Kernel& k) {
        const Values x = load(k, 1, shape);
        Values y = load(k, 2, shape);
        std::transform(x.begin(), x.end(), y.begin(), y.begin(), f);
        store(k, 0, y);
    });
}

// Whether `scalar` can be used as it is; null is an error that others report.
bool isGiven(const diopiScalar_t* scalar) { return scalar != nullptr; }

// x = f(x, a, b), without broadcasting.
template <typename Function>
diopiError_t update(diopiContextHandle_t ctx, const char* name, diopiTensorHandle_t x, diopiConstTensorHandle_t a,
                    diopiConstTensorHandle_t b, Function f) {
    Call call(ctx, name);
    call.inout(x);
    if (!call.sameShape(call.in(a), 0) || !call.sameShape(call.in(b), 0) || !call.isOneFloat()) {
        return kLeave;
    }
    return call.run([f](const Kernel& k) {
        Values values = load(k, 0);
        const Values first = load(k, 1), second = load(k, 2);
        for (size_t i = 0; i < values.size(); ++i) {
            values[i] = f(values[i], first[i], second[i]);
        }
        store(k, 0, values);
    });
}

}  // namespace

diopiError_t diopiAdd(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, const diopiScalar_t* alpha) {
    if (!isGiven(alpha)) {
        return kLeave;
    }
    const double factor = number(alpha);
    return binary(ctx, "diopiAdd", out, input, other, factor == 1, [=](double a, double b) { return a + factor * b; });
}
diopiError_t diopiAddInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t other,
                         const diopiScalar_t* alpha) {
    return diopiAdd(ctx, input, input, other, alpha);
}
diopiError_t diopiSub(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, const diopiScalar_t* alpha) {
    if (!isGiven(alpha)) {
        return kLeave;
    }
    const double factor = number(alpha);
    return binary(ctx, "diopiSub", out, input, other, factor == 1, [=](double a, double b) { return a - factor * b; });
}
diopiError_t diopiMul(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other) {
    return binary(ctx, "diopiMul", out, input, other, false, [](double a, double b) { return a * b; });
}
diopiError_t diopiMulInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t other) {
    return diopiMul(ctx, input, input, other);
}
diopiError_t diopiDiv(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, diopiRoundMode_t rounding_mode) {
    if (rounding_mode != RoundModeNone) {
        return kLeave;
    }
    return binary(ctx, "diopiDiv", out, input, other, false, [](double a, double b) { return a / b; });
}
diopiError_t diopiAddScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other, const diopiScalar_t* alpha) {
    if (!isGiven(other) || !isGiven(alpha)) {
        return kLeave;
    }
    return map(ctx, "diopiAddScalar", [b = number(other) * number(alpha)](double a) { return a + b; }, out, input);
}
diopiError_t diopiMulScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other) {
    return isGiven(other) ? map(
                                ctx, "diopiMulScalar", [b = number(other)](double a) { return a * b; }, out, input)
                          : kLeave;
}
diopiError_t diopiMulInpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* other) {
    return diopiMulScalar(ctx, input, input, other);
}
diopiError_t diopiDivScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other, diopiRoundMode_t rounding_mode) {
    if (!isGiven(other) || rounding_mode != RoundModeNone) {
        return kLeave;
    }
    return map(ctx, "diopiDivScalar", [b = number(other)](double a) { return a / b; }, out, input);
}
diopiError_t diopiLerpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                             diopiConstTensorHandle_t end, const diopiScalar_t* weight) {
    if (!isGiven(weight)) {
        return kLeave;
    }
    const auto between = [w = number(weight)](double a, double b) {
        return w < 0.5 ? a + w * (b - a) : b - (b - a) * (1 - w);
    };
    return map(ctx, "diopiLerpScalar", between, out, input, end);
}
diopiError_t diopiAddcmulInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t tensor1,
                             diopiConstTensorHandle_t tensor2, const diopiScalar_t* value) {
    return isGiven(value) ? update(ctx, "diopiAddcmulInp", input, tensor1, tensor2,
                                   [v = number(value)](double x, double a, double b) { return x + v * a * b; })
                          : kLeave;
}
diopiError_t diopiAddcdivInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t tensor1,
                             diopiConstTensorHandle_t tensor2, const diopiScalar_t* value) {
    return isGiven(value) ? update(ctx, "diopiAddcdivInp", input, tensor1, tensor2,
                                   [v = number(value)](double x, double a, double b) { return x + v * a / b; })
                          : kLeave;
}

#define DROPLET_UNARY(NAME, EXPRESSION)                                                                    \
    diopiError_t NAME(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) { \
        return map(ctx, #NAME, [](double x) -> double { return EXPRESSION; }, out, input);                 \
    }
#define DROPLET_SLOPE(NAME, EXPRESSION)                                                                               \
    diopiError_t NAME(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output, \
                      diopiConstTensorHandle_t from) {                                                                \
        return map(                                                                                                   \
            ctx, #NAME, [](double g, double x) -> double { return EXPRESSION; }, grad_input, grad_output, from);      \
    }

DROPLET_UNARY(diopiNeg, -x)
DROPLET_UNARY(diopiExp, std::exp(x))
DROPLET_UNARY(diopiSqrt, std::sqrt(x))
DROPLET_UNARY(diopiRsqrt, 1 / std::sqrt(x))
DROPLET_UNARY(diopiTanh, std::tanh(x))
DROPLET_UNARY(diopiSigmoid, sigmoid(x))
DROPLET_UNARY(diopiSilu, x / (1 + std::exp(-x)))
DROPLET_UNARY(diopiRelu, x <= 0 ? 0 : x)
DROPLET_SLOPE(diopiSiluBackward, g* sigmoid(x) * (1 + x * (1 - sigmoid(x))))
DROPLET_SLOPE(diopiSigmoidBackward, g * (1 - x) * x)
DROPLET_SLOPE(diopiTanhBackward, g * (1 - x * x))

diopiError_t diopiReluInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) { return diopiRelu(ctx, input, input); }
diopiError_t diopiThresholdBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    const diopiScalar_t* threshold) {
    if (!isGiven(threshold)) {
        return kLeave;
    }
    const auto slope = [limit = number(threshold)](double g, double x) { return x <= limit ? 0 : g; };
    return map(ctx, "diopiThresholdBackward", slope, grad_input, grad_output, input);
}
diopiError_t diopiGelu(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                       const char* approximate) {
    const bool isTanh = approximate != nullptr && std::strcmp(approximate, "tanh") == 0;
    if (approximate == nullptr || (!isTanh && std::strcmp(approximate, "none") != 0)) {
        return kLeave;
    }
    return map(ctx, "diopiGelu", isTanh ? tanhGelu : erfGelu, out, input);
}
diopiError_t diopiGeluBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                               const char* approximate) {
    const bool isTanh = approximate != nullptr && std::strcmp(approximate, "tanh") == 0;
    if (approximate == nullptr || (!isTanh && std::strcmp(approximate, "none") != 0)) {
        return kLeave;
    }
    const auto slope = [f = isTanh ? tanhGeluSlope : erfGeluSlope](double g, double x) { return g * f(x); };
    return map(ctx, "diopiGeluBackward", slope, grad_input, grad_output, input);
}

// ---- Moving elements about. ----

diopiError_t diopiCastDtype(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    Call call(ctx, "diopiCastDtype");
    call.out(out);
    call.in(input);
    // From a float to whole numbers only the reference knows what becomes of those that do not fit.
    const bool isSafe = isFloat(call.dtype(0)) || call.dtype(0) == diopi_dtype_bool || !isFloat(call.dtype(1));
    return call.sameShape(0, 1) && isSafe ? call.run([](const Kernel& k) { diopigen::sim::convert(k, 0, 1); }) : kLeave;
}
diopiError_t diopiCopyInp(diopiContextHandle_t ctx, diopiConstTensorHandle_t src, diopiTensorHandle_t dest) {
    Call call(ctx, "diopiCopyInp");
    call.out(dest);
    call.in(src);
    const bool isPlain = call.sameShape(0, 1) && call.dtype(0) == call.dtype(1);
    return isPlain ? call.run([](const Kernel& k) { diopigen::sim::convert(k, 0, 1); }) : kLeave;
}
diopiError_t diopiFill(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* value) {
    Call call(ctx, "diopiFill");
    call.out(input);
    if (!isGiven(value) || !isFloat(call.dtype(0))) {
        return kLeave;
    }
    return call.run([count = product(call.shape(0)), number = number(value)](const Kernel& k) {
        store(k, 0, Values(static_cast<size_t>(count), number));
    });
}

diopiError_t diopiContiguous(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t input,
                             diopiMemoryFormat_t memoryFormat) {
    diopiSize_t size{};
    diopiDtype_t dtype = diopi_dtype_unsupported;
    if (out == nullptr || input == nullptr || diopiGetTensorShape(input, &size) != diopiSuccess ||
        diopiGetTensorDtype(input, &dtype) != diopiSuccess || (memoryFormat == ChannelsLast && size.len != 4) ||
        (memoryFormat != Contiguous && memoryFormat != ChannelsLast)) {
        return kLeave;
    }
    Shape stride(static_cast<size_t>(size.len));
    int64_t step = 1;
    for (int64_t i = size.len; i-- > 0;) {
        const int64_t d = memoryFormat == Contiguous ? i : i == 0 ? 0 : i == 1 ? 2 : i == 2 ? 3 : 1;
        stride[d] = step;
        step *= size.data[d] > 0 ? size.data[d] : 1;
    }
    const diopiSize_t strides{stride.data(), size.len};
    diopiTensorHandle_t made = nullptr;
    if (diopiRequireTensor(ctx, &made, &size, &strides, dtype, diopi_device) != diopiSuccess) {
        return diopiErrorOccurred;
    }
    const diopiError_t status = droplet::diopiCopyInp(ctx, input, made);
    *out = status == diopiSuccess ? made : *out;
    return status;
}
diopiError_t diopiCat(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t* tensors,
                      int64_t num_inputs, int64_t dim) {
    Call call(ctx, "diopiCat");
    call.out(out);
    const int64_t along = call.dim(0, dim);
    if (along < 0 || tensors == nullptr || num_inputs < 1) {
        return kLeave;
    }
    int64_t size = 0;
    bool isPlain = call.dtype(0) != diopi_dtype_int64;
    for (int64_t i = 0; i < num_inputs; ++i) {
        const int k = call.in(tensors[i]);
        Shape shape = call.shape(k);
        isPlain = isPlain && shape.size() == call.shape(0).size() && call.dtype(k) == call.dtype(0);
        if (isPlain) {
            size += shape[along];
            shape[along] = call.shape(0)[along];
            isPlain = shape == call.shape(0);
        }
    }
    if (!isPlain || size != call.shape(0)[along]) {
        return kLeave;
    }
    const auto first = static_cast<size_t>(along);
    return call.run([=, shape = call.shape(0)](const Kernel& k) {
        const int64_t rows = product(shape, 0, first), width = product(shape, first);
        Values all(static_cast<size_t>(rows * width));
        for (int64_t i = 1, at = 0; i <= num_inputs; ++i) {
            const Values part = load(k, i);
            const int64_t share = static_cast<int64_t>(part.size()) / rows;
            for (int64_t row = 0; row < rows; ++row) {
                std::copy_n(&part[row * share], share, &all[row * width + at]);
            }
            at += share;
        }
        store(k, 0, all);
    });
}

}  // namespace droplet
}  // namespace impl
