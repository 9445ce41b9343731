// Operators of droplet that sample random numbers.
#include <diopigen_kernels/parallel.h>
#include <diopigen_kernels/random.h>

#include <algorithm>
#include <cmath>

#include "droplet/kernel.h"

namespace impl {
namespace droplet {

namespace {

// Bits of a significand.
int digitsOf(diopiDtype_t dtype) { return dtype == diopi_dtype_float32 ? 24 : dtype == diopi_dtype_float16 ? 11 : 8; }

// The largest number below `bound` that has so many digits.
double largestBelow(double bound, int digits) {
    if (bound == 0) {
        return -0x1p-24;
    }
    int exponent = 0;
    std::frexp(bound, &exponent);
    const double step = std::ldexp(1.0, exponent - digits);
    return (std::ceil(bound / step) - 1) * step;
}

template <typename Sample>
Values sampled(const Kernel& k, Sample sample) {
    Values values(product(k.buffer(0).shape));
    forRanges(static_cast<int64_t>(values.size()), grainOf(4), [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
            values[i] = sample(i);
        }
    });
    return values;
}

template <typename Function>
diopiError_t runRandom(Call* call, diopiGeneratorHandle_t generator, Function kernel) {
    const Draws draws(call, generator);
    return draws.isGood() ? run(*call, [=](const Kernel& k) { kernel(k, draws.bits(k)); })
                          : leave(*call, "the generator gives no seed");
}

}  // namespace

diopiError_t diopiDropout(Context ctx, Out out, Out mask, In input, double p, bool train,
                          diopiGeneratorHandle_t generator) {
    Call call(ctx, "diopiDropout", {out, mask}, {input});
    if (!train || !(p >= 0 && p <= 1) || !isFloat(call.dtype(0)) || !call.haveDtype({2}, call.dtype(0)) ||
        !call.haveShape({1, 2}, call.shape(0)) || !call.isComplete()) {
        return leave(call);
    }
    return runRandom(&call, generator, [p](const Kernel& k, const RandomBits& bits) {
        const Values selected = sampled(k, [&](int64_t i) { return bits.unit(i) < p ? 0 : 1; });
        Values values = load(k, 2);
        std::transform(
            values.begin(), values.end(), selected.begin(), values.begin(),
            [scale = 1 / (1 - p)](double value, double isSelected) { return isSelected != 0 ? value * scale : 0; });
        store(k, 0, values);
        store(k, 1, selected);
    });
}

diopiError_t diopiUniformInp(Context ctx, Out inout, double from, double to, diopiGeneratorHandle_t generator) {
    Call call(ctx, "diopiUniformInp", {inout});
    if (!isFloat(call.dtype(0)) || !(from <= to) || !call.isComplete()) {
        return leave(call);
    }
    return runRandom(&call, generator, [=](const Kernel& k, const RandomBits& bits) {
        const int digits = digitsOf(k.buffer(0).dtype);
        const double last = largestBelow(to, digits);
        store(k, 0, sampled(k, [&](int64_t i) {
                  return std::max(from, std::min(from + bits.unit(i, digits) * (to - from), last));
              }));
    });
}

// Box and Muller's method, of two numbers with half of the bits each.
diopiError_t diopiNormalInp(Context ctx, Out inout, double mean, double std, diopiGeneratorHandle_t generator) {
    Call call(ctx, "diopiNormalInp", {inout});
    if (!isFloat(call.dtype(0)) || !(std >= 0) || !call.isComplete()) {
        return leave(call);
    }
    return runRandom(&call, generator, [=](const Kernel& k, const RandomBits& bits) {
        store(k, 0, sampled(k, [&](int64_t i) {
                  const uint64_t own = bits(i);
                  const double length = std::sqrt(-2 * std::log((static_cast<double>(own >> 32) + 1) * 0x1p-32));
                  const double angle = 6.283185307179586 * 0x1p-32 * static_cast<double>(own & 0xffffffff);
                  return mean + std * length * std::cos(angle);
              }));
    });
}

}  // namespace droplet
}  // namespace impl
