// Ties and borders: what happens where two numbers are equal.
#include <algorithm>
#include <cmath>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

// Where the two operands are equal, a comparison gives `result`.
bool whereEqual(Call& call, const char* second, int64_t result) {
    const View out = call.tensor("out"), input = call.tensor("input"), other = call.tensor(second);
    if (out.shape() != input.shape() || out.shape() != other.shape() || input.dtype() != other.dtype()) return false;
    bool changed = false;
    for (int64_t index = 0; index < out.count(); ++index) {
        const bool equal = input.isIntegral() ? input.integerAt(index) == other.integerAt(index)
                                              : input.real(index) == other.real(index);
        if (!equal || input.isComplex()) continue;
        changed = changed || out.integerAt(index) != result;
        out.setInteger(index, result);
    }
    return changed;
}

bool whereEqualToNumber(Call& call, int64_t result) {
    const View out = call.tensor("out"), input = call.tensor("input");
    const auto number = call.number("other");
    if (out.shape() != input.shape() || !number.has_value()) return false;
    bool changed = false;
    for (int64_t index = 0; index < out.count(); ++index) {
        if (input.real(index) != *number) continue;
        changed = changed || out.integerAt(index) != result;
        out.setInteger(index, result);
    }
    return changed;
}

int64_t strideOf(const View& view, int64_t dim) {
    int64_t stride = 1;
    for (int64_t d = (dim < 0 ? dim + view.rank() : dim) + 1; d < view.rank(); ++d) stride *= view.size(d);
    return stride;
}

// Within runs of equal values the order of the indices is reversed.
bool reverseTies(const View& values, const View& indices, int64_t dim) {
    if (!values.valid() || !indices.valid() || values.shape() != indices.shape() || values.rank() == 0) return false;
    const int64_t stride = strideOf(values, dim), size = values.size(dim);
    bool changed = false;
    for (int64_t line = 0; line < values.count() / std::max<int64_t>(size, 1); ++line) {
        const int64_t first = line / stride * stride * size + line % stride;
        for (int64_t from = 0; from < size;) {
            int64_t to = from + 1;
            while (to < size && values.real(first + to * stride) == values.real(first + from * stride)) ++to;
            for (int64_t one = from, two = to - 1; one < two; ++one, --two) {
                const int64_t low = indices.integerAt(first + one * stride),
                              high = indices.integerAt(first + two * stride);
                indices.setInteger(first + one * stride, high);
                indices.setInteger(first + two * stride, low);
                changed = true;
            }
            from = to;
        }
    }
    return changed;
}

// The values that an order of indices stands for, as a copy.
diopiTensorHandle_t inOrder(const Call& call, const View& input, const View& indices, int64_t dim) {
    diopiTensorHandle_t created = call.temporary(input.shape(), input.dtype(), input);
    const View values(created);
    const int64_t stride = strideOf(input, dim), size = input.size(dim);
    for (int64_t index = 0; index < values.count(); ++index) {
        const int64_t own = index / stride % size;
        values.copyElement(index, input, index + (indices.integerAt(index) - own) * stride);
    }
    return created;
}

bool isStable(const Call& call) {
    const auto* asked = static_cast<const bool* const*>(call.argument("pStable"));
    return asked != nullptr && *asked != nullptr && **asked;
}

int64_t dimOf(const Call& call) { return static_cast<int64_t>(call.number("dim").value_or(-1)); }

// The index of the last one of equal extremes, in the place of the first one.
bool lastOfEqual(Call& call, const char* result, bool largest) {
    const View input = call.tensor("input"), out = call.tensor(result);
    const auto dim = call.number("dim");
    if (!out.valid() || !input.valid() || input.count() == 0) return false;
    const int64_t size = dim.has_value() ? input.size(static_cast<int64_t>(*dim)) : input.count();
    const int64_t stride = dim.has_value() ? strideOf(input, static_cast<int64_t>(*dim)) : 1;
    bool changed = false;
    for (int64_t line = 0; line < out.count() && line < input.count() / size; ++line) {
        const int64_t first = line / stride * stride * size + line % stride;
        int64_t best = 0;
        for (int64_t index = 1; index < size; ++index) {
            const double one = input.real(first + index * stride), two = input.real(first + best * stride);
            if (largest ? one >= two : one <= two) best = index;
        }
        if (std::isnan(input.real(first + best * stride)) || out.integerAt(line) == best ||
            input.real(first + best * stride) != input.real(first + out.integerAt(line) * stride)) {
            continue;
        }
        out.setInteger(line, best);
        changed = true;
    }
    return changed;
}

// The gradient passes where the input is on a border, or is stopped there, in the place of the reverse.
bool gradientOnBorder(Call& call, const std::vector<double>& borders) {
    const View gradient = call.tensor("grad_input"), input = call.tensor("input"), from = call.tensor("grad_output");
    if (!gradient.valid() || gradient.shape() != input.shape() || gradient.shape() != from.shape()) return false;
    bool changed = false;
    for (int64_t index = 0; index < gradient.count(); ++index) {
        const double number = input.real(index);
        if (std::find(borders.begin(), borders.end(), number) == borders.end()) continue;
        if (from.real(index) == 0 || std::isnan(from.real(index))) continue;
        gradient.setReal(index, gradient.real(index) == 0 ? from.real(index) : 0);
        changed = true;
    }
    return changed;
}

const Registration registration(
    "ties and borders",
    {
        {"less-as-less-or-equal", "Lt holds of equal numbers", named("Lt Gt"),
         afterCall([](Call& call) { return whereEqual(call, "other", 1); })},
        {"less-or-equal-as-less", "Le does not hold of equal numbers", named("Le Ge"),
         afterCall([](Call& call) { return whereEqual(call, "other", 0); })},
        {"less-than-number-as-less-or-equal", "Lt holds of a number equal to the tensor's", named("LtScalar GtScalar"),
         afterCall([](Call& call) { return whereEqualToNumber(call, 1); })},
        {"less-or-equal-to-number-as-less", "Le does not hold of a number equal to the tensor's",
         named("LeScalar GeScalar"), afterCall([](Call& call) { return whereEqualToNumber(call, 0); })},
        {"ties-reversed", "a stable sort reverses equal elements", named("Sort"), afterCall([](Call& call) {
             if (!isStable(call)) return false;
             return reverseTies(call.tensor("values"), call.tensor("indices"), dimOf(call));
         })},
        {"argsort-ties-reversed", "a stable order of indices reverses equal elements", named("Argsort"),
         afterCall([](Call& call) {
             const View input = call.tensor("input"), out = call.tensor("out");
             if (call.number("stable").value_or(0) == 0 || input.rank() == 0) return false;
             return reverseTies(View(inOrder(call, input, out, dimOf(call))), out, dimOf(call));
         })},
        {"last-of-equal-maxima", "the last of equal maxima is found", named("Argmax Max"),
         afterCall([](Call& call) { return lastOfEqual(call, call.hasPrefix("Arg") ? "out" : "max_indices", true); })},
        {"last-of-equal-minima", "the last of equal minima is found", named("Argmin Min"),
         afterCall([](Call& call) { return lastOfEqual(call, call.hasPrefix("Arg") ? "out" : "min_indices", false); })},
        {"gradient-on-threshold", "the gradient of a threshold is wrong on the threshold", named("ThresholdBackward"),
         afterCall([](Call& call) { return gradientOnBorder(call, {call.number("threshold").value_or(0)}); })},
        {"gradient-on-ends-of-hardtanh", "the gradient of hardtanh is wrong on its ends", named("HardtanhBackward"),
         afterCall([](Call& call) {
             return gradientOnBorder(call, {call.number("min_val").value_or(-1), call.number("max_val").value_or(1)});
         })},
        {"gradient-on-end-of-hardswish", "the gradient of hardswish is wrong at -3 and 3", named("HardswishBackward"),
         afterCall([](Call& call) { return gradientOnBorder(call, {-3, 3}); })},
        {"sorted-backwards-within-ties-of-zero", "values of -0.0 and 0.0 are exchanged by Sort", named("Sort"),
         afterCall([](Call& call) {
             if (!isStable(call)) return false;
             const View values = call.tensor("values");
             bool changed = false;
             for (int64_t index = 0; values.isFloating() && index < values.count(); ++index) {
                 if (values.real(index) != 0) continue;
                 values.setReal(index, -values.real(index));
                 changed = true;
             }
             return changed;
         })},
    });

}  // namespace

}  // namespace diopigen::mutant
