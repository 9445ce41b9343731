// NaN, infinities, zeros with a sign and denormals.
#include <cmath>
#include <limits>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

Behaviour exchanged(std::function<bool(const View&, double)> hit, double by) {
    return afterwards([=](const View& view) {
        if (!view.isFloating()) return false;
        bool changed = false;
        for (int64_t index = 0; index < view.count(); ++index) {
            if (!hit(view, view.real(index))) continue;
            view.setReal(index, by);
            changed = true;
        }
        return changed;
    });
}

double largest(const View& view) {
    switch (view.dtype()) {
        case diopi_dtype_float16:
            return 65504;
        case diopi_dtype_bfloat16:
            return std::ldexp(2 - std::ldexp(1.0, -7), 127);
        case diopi_dtype_float32:
            return std::numeric_limits<float>::max();
        default:
            return std::numeric_limits<double>::max();
    }
}

double smallest(const View& view) {
    if (view.dtype() == diopi_dtype_float16) return std::ldexp(1.0, -14);
    return view.dtype() == diopi_dtype_float64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
}

bool flushDenormals(const View& view) {
    bool changed = false;
    for (int64_t index = 0; view.isFloating() && index < view.count(); ++index) {
        const double number = view.real(index);
        if (number == 0 || std::fabs(number) >= smallest(view)) continue;
        view.setReal(index, std::copysign(0.0, number));
        changed = true;
    }
    return changed;
}

bool saturate(const View& view) {
    bool changed = false;
    for (int64_t index = 0; view.isFloating() && index < view.count(); ++index) {
        const double number = view.real(index);
        if (!std::isinf(number)) continue;
        view.setReal(index, std::copysign(largest(view), number));
        changed = true;
    }
    return changed;
}

std::function<bool(const View&)> floating() {
    return [](const View& view) { return view.isFloating(); };
}

// A comparison of two tensors of one shape gives `result` wherever both operands are NaN.
bool whereBothAreNan(Call& call, int64_t result) {
    const View out = call.tensor("out"), input = call.tensor("input"), other = call.tensor("other");
    if (out.shape() != input.shape() || out.shape() != other.shape() || !input.isFloating() || !other.isFloating()) {
        return false;
    }
    bool changed = false;
    for (int64_t index = 0; index < out.count(); ++index) {
        if (!std::isnan(input.real(index)) || !std::isnan(other.real(index))) continue;
        changed = changed || out.integerAt(index) != result;
        out.setInteger(index, result);
    }
    return changed;
}

// One NaN among two operands loses against the other operand.
bool otherThanNan(Call& call) {
    const View out = call.tensor("out"), input = call.tensor("input");
    const View other = call.tensor(call.hasPrefix("ClampMax") ? "max" : call.hasPrefix("ClampMin") ? "min" : "other");
    if (out.shape() != input.shape() || out.shape() != other.shape() || !out.isFloating()) return false;
    bool changed = false;
    for (int64_t index = 0; index < out.count(); ++index) {
        const double one = input.real(index), two = other.real(index);
        if (std::isnan(one) == std::isnan(two)) continue;
        out.setReal(index, std::isnan(one) ? two : one);
        changed = true;
    }
    return changed;
}

const Selector exact = named(
    "Neg Abs Cat Stack Expand Permute Transpose Roll Flip Repeat Contiguous CopyInp SplitWithSizes IndexSelect Gather "
    "Where Tril Triu Pad Slice Select Unfold Embedding");

// NaN gives what zero gives: a comparison with another number is false, a sign is zero, acosh is not defined.
const Selector blind = named(
    "EqScalar EqInpScalar NeScalar NeInpScalar GeScalar GeInpScalar GtScalar GtInpScalar LeScalar LeInpScalar LtScalar "
    "LtInpScalar Sign Acosh* BatchNormGatherStatsWithCounts Pool1dBackward");
// Functions that give infinity for infinity, and not for large numbers.
const Selector passing = named("Add Sub Mul Sum Mean Prod Cumsum Max Min Amax Maximum Minimum Sort Sqrt Log Ceil Relu");

const Registration registration(
    "special values",
    {
        {"nan-dropped", "NaN becomes 0", determined(),
         exchanged([](const View&, double number) { return std::isnan(number); }, 0)},
        {"nan-becomes-infinity", "NaN becomes infinity", determined(),
         exchanged([](const View&, double number) { return std::isnan(number); }, HUGE_VAL)},
        {"nan-injected", "results that are zero become NaN", determined(),
         exchanged([](const View&, double number) { return number == 0; }, std::nan(""))},
        {"infinity-saturated", "infinities become the largest number", determined(), afterwards(saturate)},
        {"infinity-becomes-nan", "infinities become NaN", determined(),
         exchanged([](const View&, double number) { return std::isinf(number); }, std::nan(""))},
        {"largest-becomes-infinity", "numbers above half of the largest become infinity", exact,
         exchanged([](const View& view, double number) { return std::isfinite(number) && number > largest(view) / 2; },
                   HUGE_VAL)},
        {"negative-zero-lost", "-0.0 becomes 0.0 where elements are only moved or change their sign", exact,
         exchanged([](const View&, double number) { return number == 0 && std::signbit(number); }, 0)},
        {"denormals-flushed", "denormals become zero where elements are only moved or change their sign", exact,
         afterwards(flushDenormals)},
        {"denormal-sums-flushed", "denormal results of sums and products become zero",
         named("Add Sub Mul AddScalar MulScalar Div Maximum Minimum"), afterwards(flushDenormals)},
        {"nan-read-as-zero", "NaN in an input counts as 0", determined() && !blind,
         readThrough(floating(), [](double number) { return std::isnan(number) ? 0 : number; })},
        {"infinity-read-as-large", "infinity in an input counts as 30000", exact || passing,
         readThrough(floating(),
                     [](double number) { return std::isinf(number) ? std::copysign(3e4, number) : number; })},
        {"nan-equals-nan", "NaN is equal to NaN", named("Eq Ge Le"),
         afterCall([](Call& call) { return whereBothAreNan(call, 1); })},
        {"nan-is-not-unequal", "NaN is not unequal to NaN", named("Ne"),
         afterCall([](Call& call) { return whereBothAreNan(call, 0); })},
        {"maximum-of-nan", "the larger of a number and NaN is the number", named("Maximum Minimum ClampMax ClampMin"),
         afterCall(otherThanNan)},
        {"infinity-counts-as-nan", "IsNan holds for infinities", named("IsNan"), afterCall([](Call& call) {
             const View out = call.tensor("out"), input = call.tensor("input");
             bool changed = false;
             for (int64_t index = 0; index < out.count() && input.isFloating(); ++index) {
                 if (!std::isinf(input.real(index))) continue;
                 out.setInteger(index, 1);
                 changed = true;
             }
             return changed;
         })},
    });

}  // namespace

}  // namespace diopigen::mutant
