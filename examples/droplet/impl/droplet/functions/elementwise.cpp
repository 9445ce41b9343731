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
bool isWhole(const diopiScalar_t* scalar) { return isGiven(scalar) && number(scalar) == std::trunc(number(scalar)); }

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
diopiError_t diopiMulScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            const diopiScalar_t* other) {
    if (!isWhole(other)) {
        return kLeave;
    }
    return map(ctx, "diopiMulScalar", [b = number(other)](double a) { return a * b; }, out, input);
}
diopiError_t diopiMulInpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* other) {
    return diopiMulScalar(ctx, input, input, other);
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
    if (!isWhole(threshold)) {
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
    return call.sameShape(0, 1) && isSafe ? call.run([](const Kernel& k) { store(k, 0, load(k, 1)); }) : kLeave;
}
diopiError_t diopiCopyInp(diopiContextHandle_t ctx, diopiConstTensorHandle_t src, diopiTensorHandle_t dest) {
    Call call(ctx, "diopiCopyInp");
    call.out(dest);
    call.in(src);
    const bool isPlain = call.sameShape(0, 1) && call.dtype(0) == call.dtype(1);
    return isPlain ? call.run([](const Kernel& k) { store(k, 0, load(k, 1)); }) : kLeave;
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

}  // namespace droplet
}  // namespace impl
