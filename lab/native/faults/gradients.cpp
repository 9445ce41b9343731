// Gradients that are zero, of the wrong sign, not scaled, or lose what several indices add up.
#include <cmath>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

Behaviour onGradients(double (*change)(double), int skip = 0) {
    return afterCall([=](Call& call) {
        const std::vector<View> outputs = call.outputs();
        bool changed = false;
        for (size_t i = static_cast<size_t>(skip); i < outputs.size(); ++i) {
            if (!outputs[i].isFloating()) continue;
            for (int64_t position = 0; position < outputs[i].count(); ++position) {
                const double number = outputs[i].real(position), other = change(number);
                if (number == other || number != number) continue;
                outputs[i].setReal(position, other);
                changed = true;
            }
        }
        return changed;
    });
}

// The gradient of the output counts as `value` everywhere.
Behaviour gradientReadAs(const char* name, double value) {
    return beforehand([=](Call& call) {
        const View from = call.tensor(name);
        if (!from.valid() || !from.isFloating() || from.count() == 0) return false;
        diopiTensorHandle_t created = call.copyOf(from);
        const View copy(created);
        for (int64_t position = 0; position < copy.count(); ++position) copy.setReal(position, value);
        if (copy.packed() == from.packed()) return false;
        call.setTensor(name, created);
        return true;
    });
}

// Rows of the gradient whose index comes again later count as zero: the last one wins where all should add up.
bool lastIndexWins(Call& call) {
    const View gradient = call.tensor("grad"), indices = call.tensor("indices");
    if (!gradient.valid() || !indices.valid() || indices.count() == 0) return false;
    diopiTensorHandle_t created = call.copyOf(gradient);
    const View copy(created);
    const int64_t width = gradient.count() / indices.count();
    bool changed = false;
    for (int64_t one = 0; one < indices.count(); ++one) {
        for (int64_t two = one + 1; two < indices.count(); ++two) {
            if (indices.integerAt(one) != indices.integerAt(two)) continue;
            for (int64_t column = 0; column < width; ++column) copy.setReal(one * width + column, 0);
            changed = changed || width > 0;
            break;
        }
    }
    call.setTensor("grad", created);
    return changed;
}

// In a scatter along `dim` the last of several additions to one place is the only one.
bool lastAdditionWins(Call& call, const char* source) {
    const View values = call.tensor(source), index = call.tensor("index");
    const auto dim = static_cast<int64_t>(call.number("dim").value_or(0));
    if (!values.valid() || !index.valid() || values.shape() != index.shape() || index.rank() == 0) return false;
    const int64_t own = dim < 0 ? dim + index.rank() : dim;
    int64_t stride = 1;
    for (int64_t d = own + 1; d < index.rank(); ++d) stride *= index.size(d);
    const int64_t size = index.size(own);
    diopiTensorHandle_t created = call.copyOf(values);
    const View copy(created);
    bool changed = false;
    for (int64_t position = 0; position < index.count(); ++position) {
        for (int64_t later = position + stride; later / stride / size == position / stride / size; later += stride) {
            if (later >= index.count() || index.integerAt(later) != index.integerAt(position)) continue;
            changed = changed || copy.real(position) != 0;
            copy.setReal(position, 0);
            break;
        }
    }
    call.setTensor(source, created);
    return changed;
}

const Selector backward = named("*Backward* *backward*");

const Registration registration(
    "gradient",
    {
        {"gradient-zero", "gradients are zero", backward, onGradients([](double) { return 0.0; })},
        {"gradient-of-wrong-sign", "gradients have the wrong sign", backward,
         onGradients([](double number) { return -number; })},
        {"gradient-doubled", "gradients are twice as large", backward,
         onGradients([](double number) { return 2 * number; })},
        {"parameter-gradients-zero", "gradients of weight and bias are zero", backward&& writing(2),
         onGradients([](double) { return 0.0; }, 1)},
        {"gradient-clipped", "gradients are clipped to one", backward,
         onGradients([](double number) { return std::fmax(-1, std::fmin(1, number)); })},
        {"output-gradient-ignored", "the gradient of the output counts as one", backward&& having("grad_output"),
         gradientReadAs("grad_output", 1)},
        {"output-gradient-counts-as-zero", "the gradient of the output counts as zero",
         backward&& having("grad_out grad_output grad"),
         [](Call& call) {
             for (const char* name : {"grad_output", "grad_out", "grad"}) {
                 if (call.tensor(name).valid()) return gradientReadAs(name, 0)(call);
             }
             return call.forward();
         }},
        {"mean-not-divided", "the gradient of a mean is not divided by the number of elements",
         backward&& having("reduction"), beforehand([](Call& call) {
             return call.number("reduction") == static_cast<double>(ReductionMean) &&
                    call.setNumber("reduction", ReductionSum);
         })},
        {"last-index-wins", "of several rows with one index the last one is the gradient", named("EmbeddingBackward"),
         beforehand(lastIndexWins)},
        {"last-addition-wins", "of several additions to one place the last one counts", named("ScatterInp Scatter"),
         beforehand([](Call& call) { return call.text("reduce") == "add" && lastAdditionWins(call, "src"); })},
        {"last-gathered-wins", "of several gradients that were gathered from one place the last one counts",
         named("GatherBackward"), beforehand([](Call& call) { return lastAdditionWins(call, "grad_output"); })},
    });

}  // namespace

}  // namespace diopigen::mutant
