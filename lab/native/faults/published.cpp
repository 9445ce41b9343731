// Faults that users of published libraries reported.
#include <algorithm>
#include <cmath>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

// A call with an operand that suits is refused.
Behaviour refusing(std::function<bool(const Call&)> suits) {
    return [suits = std::move(suits)](Call& call) {
        const bool suited = suits(call);
        const diopiError_t status = call.forward();
        if (!suited || status != diopiSuccess) return status;
        call.acted();
        return diopiErrorOccurred;
    };
}

std::vector<double> numbers(const View& view) {
    std::vector<double> found(static_cast<size_t>(view.count()));
    for (int64_t index = 0; index < view.count(); ++index) found[static_cast<size_t>(index)] = view.real(index);
    return found;
}

// A negative base to the power of a fraction gives a number in place of NaN.
diopiError_t takeMagnitude(Call& call) {
    const View base = call.tensor("input");
    const View exponents = call.tensor("exponent");
    const std::optional<double> exponent = call.number("exponent");
    if (!base.isFloating() || (exponents.valid() && exponents.shape() != base.shape())) return call.forward();
    const std::vector<double> bases = numbers(base);
    const std::vector<double> powers =
        exponents.valid() ? numbers(exponents) : std::vector<double>(bases.size(), exponent.value_or(1));
    const diopiError_t status = call.forward();
    const std::vector<View> outputs = call.outputs();
    if (status != diopiSuccess || outputs.empty() || outputs[0].shape() != base.shape() || !outputs[0].isFloating())
        return status;
    for (size_t index = 0; index < bases.size(); ++index) {
        const double power = powers[index];
        if (!(bases[index] < 0) || std::isinf(bases[index]) || !std::isfinite(power) || power == std::floor(power))
            continue;
        outputs[0].setReal(static_cast<int64_t>(index), std::pow(-bases[index], power));
        call.acted();
    }
    return status;
}

bool hasTwoDimensionalIndices(const Call& call) {
    const std::vector<View> inputs = call.inputs();
    return std::any_of(inputs.begin(), inputs.end(), [&](const View& view) {
        const bool isIndex =
            view.handle() != call.tensor("input").handle() && view.handle() != call.tensor("values").handle();
        return isIndex && view.rank() >= 2 && (view.dtype() == diopi_dtype_int64 || view.dtype() == diopi_dtype_int32);
    });
}

bool anyInput(const Call& call, const std::function<bool(const View&)>& suits) {
    const std::vector<View> inputs = call.inputs();
    return std::any_of(inputs.begin(), inputs.end(), suits);
}

bool isDistant(const View& view) { return view.rank() > 0 && view.size(-1) > 1 && view.stride().back() > 256; }

// A dimension of size 1 with another stride than a contiguous tensor has.
bool isOdd(const View& view) {
    int64_t step = 1;
    bool isDense = true;
    bool isOdd = false;
    for (int64_t dim = view.rank() - 1; dim >= 0; --dim) {
        const auto at = static_cast<size_t>(dim);
        const bool isExpected = view.stride()[at] == step;
        isOdd = isOdd || (view.shape()[at] == 1 && !isExpected);
        isDense = isDense && (view.shape()[at] == 1 || isExpected);
        step *= view.shape()[at];
    }
    return isOdd && isDense && view.count() > 1;
}

bool writesNothing(const Call& call) {
    const std::vector<View> outputs = call.outputs();
    return std::any_of(outputs.begin(), outputs.end(),
                       [](const View& view) { return view.valid() && view.count() == 0; });
}

const Registration registration(
    "published",
    {
        {"magnitude-of-a-negative-base", "a negative base to the power of a fraction gives a number, not NaN",
         named("Pow PowInp PowTensor PowInpTensor"), takeMagnitude},
        {"indices-of-two-dimensions-refused", "integers as indices are refused unless they have one dimension",
         named("Index IndexPut IndexPutInp"), refusing(hasTwoDimensionalIndices)},
        {"batches-of-volumes-refused", "normalisation of five dimensions is refused", named("BatchNorm*"),
         refusing([](const Call& call) { return anyInput(call, [](const View& view) { return view.rank() == 5; }); })},
        {"distant-elements-refused", "inputs whose last dimension strides over more than 256 elements are refused",
         every(), refusing([](const Call& call) { return anyInput(call, isDistant); })},
        {"odd-strides-refused", "a stride of a dimension of size 1 that is not that of a contiguous tensor is refused",
         every(), refusing([](const Call& call) { return anyInput(call, isOdd); })},
        {"empty-results-refused", "a result without elements is refused", every(), refusing(writesNothing)},
    });

}  // namespace

}  // namespace diopigen::mutant
