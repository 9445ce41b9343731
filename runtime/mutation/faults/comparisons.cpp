// Ties and borders: what happens where two numbers are equal.
#include <algorithm>
#include <cmath>

#include "../fault.h"

namespace diopi::mutant {

namespace {

// Where the two operands are equal, a comparison gives `result`.
bool whereEqual(Call& call, const char* second, int64_t result) {
    const View out = call.tensor("out"), input = call.tensor("input"), other = call.tensor(second);
    if (out.shape() != input.shape() || out.shape() != other.shape() || input.dtype() != other.dtype()) return false;
    bool changed = false;
    for (int64_t place = 0; place < out.count(); ++place) {
        const bool equal =
            input.isIntegral() ? input.whole(place) == other.whole(place) : input.real(place) == other.real(place);
        if (!equal || input.isComplex()) continue;
        changed = changed || out.whole(place) != result;
        out.setWhole(place, result);
    }
    return changed;
}

bool whereEqualToNumber(Call& call, int64_t result) {
    const View out = call.tensor("out"), input = call.tensor("input");
    const auto number = call.number("other");
    if (out.shape() != input.shape() || !number.has_value()) return false;
    bool changed = false;
    for (int64_t place = 0; place < out.count(); ++place) {
        if (input.real(place) != *number) continue;
        changed = changed || out.whole(place) != result;
        out.setWhole(place, result);
    }
    return changed;
}

int64_t stepOf(const View& view, int64_t dim) {
    int64_t step = 1;
    for (int64_t d = (dim < 0 ? dim + view.rank() : dim) + 1; d < view.rank(); ++d) step *= view.size(d);
    return step;
}

// Within runs of equal values the order of the indices is reversed.
bool reverseTies(const View& values, const View& indices, int64_t dim) {
    if (!values.valid() || !indices.valid() || values.shape() != indices.shape() || values.rank() == 0) return false;
    const int64_t step = stepOf(values, dim), size = values.size(dim);
    bool changed = false;
    for (int64_t line = 0; line < values.count() / std::max<int64_t>(size, 1); ++line) {
        const int64_t first = line / step * step * size + line % step;
        for (int64_t from = 0; from < size;) {
            int64_t to = from + 1;
            while (to < size && values.real(first + to * step) == values.real(first + from * step)) ++to;
            for (int64_t one = from, two = to - 1; one < two; ++one, --two) {
                const int64_t low = indices.whole(first + one * step), high = indices.whole(first + two * step);
                indices.setWhole(first + one * step, high);
                indices.setWhole(first + two * step, low);
                changed = true;
            }
            from = to;
        }
    }
    return changed;
}

// The values that an order of indices stands for, as a copy.
diopiTensorHandle_t inOrder(const Call& call, const View& input, const View& indices, int64_t dim) {
    diopiTensorHandle_t made = call.temporary(input.shape(), input.dtype(), input);
    const View values(made);
    const int64_t step = stepOf(input, dim), size = input.size(dim);
    for (int64_t place = 0; place < values.count(); ++place) {
        const int64_t own = place / step % size;
        values.copyElement(place, input, place + (indices.whole(place) - own) * step);
    }
    return made;
}

bool isStable(const Call& call) {
    const auto* asked = static_cast<const bool* const*>(call.place("pStable"));
    return asked != nullptr && *asked != nullptr && **asked;
}

int64_t dimOf(const Call& call) { return static_cast<int64_t>(call.number("dim").value_or(-1)); }

// The index of the last one of equal extremes, in the place of the first one.
bool lastOfEqual(Call& call, const char* result, bool largest) {
    const View input = call.tensor("input"), out = call.tensor(result);
    const auto dim = call.number("dim");
    if (!out.valid() || !input.valid() || input.count() == 0) return false;
    const int64_t size = dim.has_value() ? input.size(static_cast<int64_t>(*dim)) : input.count();
    const int64_t step = dim.has_value() ? stepOf(input, static_cast<int64_t>(*dim)) : 1;
    bool changed = false;
    for (int64_t line = 0; line < out.count() && line < input.count() / size; ++line) {
        const int64_t first = line / step * step * size + line % step;
        int64_t best = 0;
        for (int64_t place = 1; place < size; ++place) {
            const double one = input.real(first + place * step), two = input.real(first + best * step);
            if (largest ? one >= two : one <= two) best = place;
        }
        if (std::isnan(input.real(first + best * step)) || out.whole(line) == best ||
            input.real(first + best * step) != input.real(first + out.whole(line) * step)) {
            continue;
        }
        out.setWhole(line, best);
        changed = true;
    }
    return changed;
}

// The gradient passes where the input is on a border, or is stopped there, in the place of the reverse.
bool gradientOnBorder(Call& call, const std::vector<double>& borders) {
    const View gradient = call.tensor("grad_input"), input = call.tensor("input"), from = call.tensor("grad_output");
    if (!gradient.valid() || gradient.shape() != input.shape() || gradient.shape() != from.shape()) return false;
    bool changed = false;
    for (int64_t place = 0; place < gradient.count(); ++place) {
        const double number = input.real(place);
        if (std::find(borders.begin(), borders.end(), number) == borders.end()) continue;
        if (from.real(place) == 0 || std::isnan(from.real(place))) continue;
        gradient.setReal(place, gradient.real(place) == 0 ? from.real(place) : 0);
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
             for (int64_t place = 0; values.isFloating() && place < values.count(); ++place) {
                 if (values.real(place) != 0) continue;
                 values.setReal(place, -values.real(place));
                 changed = true;
             }
             return changed;
         })},
    });

}  // namespace

}  // namespace diopi::mutant
