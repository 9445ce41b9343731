// Formulas that are right on paper and overflow or cancel in a computer.
#include <cmath>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

// float32 as the naive kernel computes.
float single(const View& view, int64_t index) { return static_cast<float>(view.real(index)); }

bool isSingle(const View& view) { return view.dtype() == diopi_dtype_float32; }

// Elementwise: the output of float32 operands by another formula.
Behaviour byFormula(const char* input, float (*formula)(float)) {
    return [=](Call& call) {
        const View from = call.tensor(input);
        std::vector<float> values;  // an in-place form overwrites them
        for (int64_t index = 0; isSingle(from) && index < from.count(); ++index) values.push_back(single(from, index));
        const diopiError_t status = call.forward();
        const View out = call.parameter("out") != nullptr ? call.tensor("out") : from;
        if (status != diopiSuccess || !isSingle(from) || !isSingle(out) || out.shape() != from.shape()) return status;
        bool changed = false;
        for (int64_t index = 0; index < out.count(); ++index) {
            const float before = single(out, index);
            const float after = formula(values[static_cast<size_t>(index)]);
            changed = changed || (before == before && after != before);
            out.setReal(index, after);
        }
        if (changed) call.acted();
        return status;
    };
}

int64_t strideOf(const View& view, int64_t dim) {
    int64_t stride = 1;
    for (int64_t d = (dim < 0 ? dim + view.rank() : dim) + 1; d < view.rank(); ++d) stride *= view.size(d);
    return stride;
}

// Exponentials of float32 without taking the maximum off first.
bool softmaxWithoutMaximum(Call& call) {
    const View input = call.tensor("input"), out = call.tensor("out");
    if (!isSingle(input) || !isSingle(out) || input.shape() != out.shape() || input.rank() == 0) return false;
    const auto dim = static_cast<int64_t>(call.number("dim").value_or(-1));
    const int64_t stride = strideOf(input, dim), size = input.size(dim);
    const bool logarithm = call.hasPrefix("Log");
    bool changed = false;
    for (int64_t line = 0; line < input.count() / std::max<int64_t>(size, 1); ++line) {
        const int64_t first = line / stride * stride * size + line % stride;
        float sum = 0;
        for (int64_t i = 0; i < size; ++i) sum += std::exp(single(input, first + i * stride));
        for (int64_t i = 0; i < size; ++i) {
            const int64_t index = first + i * stride;
            const float number = single(input, index), before = single(out, index);
            const float after = logarithm ? number - std::log(sum) : std::exp(number) / sum;
            changed = changed || (std::isfinite(before) && !(std::fabs(after - before) < 1e-3F));
            out.setReal(index, after);
        }
    }
    return changed;
}

// The logarithm of softmax with the maximum and the logarithm of the sum in one number, in double.
bool logOfSumWithMaximum(Call& call) {
    const View input = call.tensor("input"), out = call.tensor("out");
    if (input.shape() != out.shape() || input.rank() == 0) return false;
    const auto dim = static_cast<int64_t>(call.number("dim").value_or(-1));
    const int64_t stride = strideOf(input, dim), size = input.size(dim);
    bool changed = false;
    for (int64_t line = 0; line < input.count() / std::max<int64_t>(size, 1); ++line) {
        const int64_t first = line / stride * stride * size + line % stride;
        double maximum = input.real(first), sum = 0;
        for (int64_t i = 0; i < size; ++i) maximum = std::max(maximum, input.real(first + i * stride));
        for (int64_t i = 0; i < size; ++i) sum += std::exp(input.real(first + i * stride) - maximum);
        for (int64_t i = 0; i < size; ++i) {
            const int64_t index = first + i * stride;
            const double before = out.real(index), after = input.real(index) - (maximum + std::log(sum));
            changed = changed || std::fabs(after - before) > 0.1;
            out.setReal(index, after);
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
        {"log-softmax-of-log-sums", "the logarithm of softmax is x - (maximum + log(sum))", named("LogSoftmax"),
         afterCall(logOfSumWithMaximum)},
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
             for (int64_t index = 0; index < input.count(); ++index) {
                 sum += single(input, index);
                 squares += single(input, index) * single(input, index);
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
             for (int64_t index = 0; isSingle(input) && index < input.count(); ++index) {
                 if (!std::isinf(std::exp(std::fabs(single(input, index)))) || std::isinf(single(input, index)))
                     continue;
                 overflows = true;
                 if (out.count() == input.count()) out.setReal(index, HUGE_VAL);
             }
             if (overflows && out.count() == 1) out.setReal(0, HUGE_VAL);
             return overflows;
         })},
    });

}  // namespace

}  // namespace diopigen::mutant
