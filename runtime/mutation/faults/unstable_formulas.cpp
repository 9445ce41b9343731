// Formulas that are right on paper and overflow or cancel in a computer.
#include <cmath>

#include "../fault.h"

namespace diopi::mutant {

namespace {

// float32 as the naive kernel computes.
float single(const View& view, int64_t place) { return static_cast<float>(view.real(place)); }

bool isSingle(const View& view) { return view.dtype() == diopi_dtype_float32; }

// Elementwise: the output of float32 operands by another formula.
Behaviour byFormula(const char* input, float (*formula)(float)) {
    return [=](Call& call) {
        const View from = call.tensor(input);
        std::vector<float> values;  // an in-place form overwrites them
        for (int64_t place = 0; isSingle(from) && place < from.count(); ++place) values.push_back(single(from, place));
        const diopiError_t status = call.forward();
        const View out = call.parameter("out") != nullptr ? call.tensor("out") : from;
        if (status != diopiSuccess || !isSingle(from) || !isSingle(out) || out.shape() != from.shape()) return status;
        bool changed = false;
        for (int64_t place = 0; place < out.count(); ++place) {
            const float before = single(out, place);
            const float after = formula(values[static_cast<size_t>(place)]);
            changed = changed || (before == before && after != before);
            out.setReal(place, after);
        }
        if (changed) call.acted();
        return status;
    };
}

int64_t stepOf(const View& view, int64_t dim) {
    int64_t step = 1;
    for (int64_t d = (dim < 0 ? dim + view.rank() : dim) + 1; d < view.rank(); ++d) step *= view.size(d);
    return step;
}

// Exponentials of float32 without taking the maximum off first.
bool softmaxWithoutMaximum(Call& call) {
    const View input = call.tensor("input"), out = call.tensor("out");
    if (!isSingle(input) || !isSingle(out) || input.shape() != out.shape() || input.rank() == 0) return false;
    const auto dim = static_cast<int64_t>(call.number("dim").value_or(-1));
    const int64_t step = stepOf(input, dim), size = input.size(dim);
    const bool logarithm = call.hasPrefix("Log");
    bool changed = false;
    for (int64_t line = 0; line < input.count() / std::max<int64_t>(size, 1); ++line) {
        const int64_t first = line / step * step * size + line % step;
        float sum = 0;
        for (int64_t i = 0; i < size; ++i) sum += std::exp(single(input, first + i * step));
        for (int64_t i = 0; i < size; ++i) {
            const int64_t place = first + i * step;
            const float number = single(input, place), before = single(out, place);
            const float after = logarithm ? number - std::log(sum) : std::exp(number) / sum;
            changed = changed || (std::isfinite(before) && !(std::fabs(after - before) < 1e-3F));
            out.setReal(place, after);
        }
    }
    return changed;
}

// The inverse deviation over the last elements of each row from the mean of squares, in float32.
bool onePassVariance(const View& input, const View& mean, const View& inverse, double eps) {
    if (!isSingle(input) || !isSingle(inverse) || inverse.count() == 0 || !mean.valid()) return false;
    const int64_t size = input.count() / inverse.count();
    bool changed = false;
    for (int64_t row = 0; row < inverse.count(); ++row) {
        float sum = 0, squares = 0;
        for (int64_t i = 0; i < size; ++i) {
            const float number = single(input, row * size + i);
            sum += number;
            squares += number * number;
        }
        const float average = sum / static_cast<float>(size);
        const float variance = squares / static_cast<float>(size) - average * average;
        const float after = 1 / std::sqrt(variance + static_cast<float>(eps));
        changed = changed || !(std::fabs(after / single(inverse, row) - 1) < 1e-4F);
        inverse.setReal(row, after);
    }
    return changed;
}

const Registration registration(
    "unstable formula",
    {
        {"softmax-without-maximum", "softmax takes exponentials without taking the maximum off",
         named("Softmax LogSoftmax"), afterCall(softmaxWithoutMaximum)},
        {"sigmoid-overflows", "the sigmoid is exp(x) / (1 + exp(x))", named("Sigmoid SigmoidInp"),
         byFormula("input", [](float x) { return std::exp(x) / (1 + std::exp(x)); })},
        {"silu-overflows", "SiLU is x exp(x) / (1 + exp(x))", named("Silu SiluInp"),
         byFormula("input", [](float x) { return x * std::exp(x) / (1 + std::exp(x)); })},
        {"tanh-overflows", "tanh is (exp(2x) - 1) / (exp(2x) + 1)", named("Tanh TanhInp"),
         byFormula("input", [](float x) { return (std::exp(2 * x) - 1) / (std::exp(2 * x) + 1); })},
        {"log1p-cancels", "log1p is log(1 + x)", named("Log1p Log1pInp"),
         byFormula("input", [](float x) { return std::log(1 + x); })},
        {"expm1-cancels", "expm1 is exp(x) - 1", named("Expm1 Expm1Inp"),
         byFormula("input", [](float x) { return std::exp(x) - 1; })},
        {"sinh-cancels", "sinh is (exp(x) - exp(-x)) / 2", named("Sinh SinhInp"),
         byFormula("input", [](float x) { return (std::exp(x) - std::exp(-x)) / 2; })},
        {"asinh-cancels", "asinh is log(x + sqrt(x x + 1))", named("Asinh AsinhInp"),
         byFormula("input", [](float x) { return std::log(x + std::sqrt(x * x + 1)); })},
        {"atanh-cancels", "atanh is log((1 + x) / (1 - x)) / 2", named("Atanh AtanhInp"),
         byFormula("input", [](float x) { return std::log((1 + x) / (1 - x)) / 2; })},
        {"one-pass-variance", "the variance of a norm is the mean of squares less the square of the mean",
         named("LayerNorm GroupNorm"), afterCall([](Call& call) {
             return onePassVariance(call.tensor("input"), call.tensor("save_mean"), call.tensor("save_invstd"),
                                    call.number("eps").value_or(0));
         })},
        {"one-pass-deviation", "a deviation over everything comes from the mean of squares", named("Std"),
         afterCall([](Call& call) {
             const View input = call.tensor("input"), out = call.tensor("out");
             if (!isSingle(input) || !isSingle(out) || out.count() != 1 || input.count() < 2) return false;
             float sum = 0, squares = 0;
             for (int64_t place = 0; place < input.count(); ++place) {
                 sum += single(input, place);
                 squares += single(input, place) * single(input, place);
             }
             const auto count = static_cast<float>(input.count());
             const auto correction = static_cast<float>(call.number("correction").value_or(1));
             const float before = single(out, 0);
             const float after = std::sqrt((squares - sum * sum / count) / (count - correction));
             out.setReal(0, after);
             return std::isfinite(before) && !(std::fabs(after - before) <= 1e-4F * before);
         })},
        {"cross-entropy-with-logits-overflows", "log(1 + exp(x)) overflows in a loss of logits", named("BCEWithLogits"),
         afterCall([](Call& call) {
             const View input = call.tensor("input"), out = call.tensor("out");
             bool overflows = false;
             for (int64_t place = 0; isSingle(input) && place < input.count(); ++place) {
                 if (!std::isinf(std::exp(std::fabs(single(input, place)))) || std::isinf(single(input, place)))
                     continue;
                 overflows = true;
                 if (out.count() == input.count()) out.setReal(place, HUGE_VAL);
             }
             if (overflows && out.count() == 1) out.setReal(0, HUGE_VAL);
             return overflows;
         })},
    });

}  // namespace

}  // namespace diopi::mutant
