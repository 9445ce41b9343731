// Arguments in each other's place, and indices that are off by one.
#include "../fault.h"

namespace diopigen::mutant {

namespace {

bool exchangeTensors(Call& call, const char* one, const char* two) {
    const View first = call.tensor(one), second = call.tensor(two);
    if (!first.valid() || !second.valid() || first.dtype() != second.dtype() || first.shape() != second.shape() ||
        first.count() == 0 || (!call.parameter(one)->isWritten() && first.packed() == second.packed())) {
        return false;
    }
    call.setTensor(one, second.handle());
    call.setTensor(two, first.handle());
    return true;
}

Fault exchanged(const char* fault, const char* one, const char* two, Selector where, const char* sentence) {
    return {fault, sentence, having(one) && having(two) && std::move(where), beforehand([=](Call& call) {
                const auto first = call.number(one), second = call.number(two);
                if (!first.has_value() || !second.has_value()) return exchangeTensors(call, one, two);
                const bool changed = call.setNumber(one, *second);
                return call.setNumber(two, *first) || changed;
            })};
}

Fault shifted(const char* fault, const char* name, double by, Selector where, const char* sentence) {
    return {fault, sentence, having(name) && std::move(where), beforehand([=](Call& call) {
                const auto number = call.number(name);
                return number.has_value() && call.setNumber(name, *number + by);
            })};
}

// One element of a list of integers counts as another.
Fault listItem(const char* fault, const char* name, Selector where, std::function<void(std::vector<int64_t>&)> change,
               const char* sentence) {
    return {fault, sentence, having(name) && std::move(where), beforehand([=](Call& call) {
                const std::vector<int64_t> before = call.sizes(name);
                std::vector<int64_t> after = before;
                if (!after.empty()) change(after);
                if (after == before) return false;
                call.setSizes(name, after);
                return true;
            })};
}

const Selector noncommutative =
    named("Sub Div DivInp PowTensor Remainder RemainderTensor Lt Le Gt Ge Atan2 ClampMax Polar Where");

// Gradients that look at the shape of their input alone.
const Selector onlyShapes = named("*Pool* NLLLoss* GatherBackward MaskedSelectBackward Upsample*");

const Registration registration(
    "arguments exchanged",
    {
        exchanged("operands-exchanged", "input", "other", noncommutative, "input and other are in each other's place"),
        exchanged("targets-exchanged", "input", "target", family("loss") && !named("MSELoss SmoothL1Loss"),
                  "input and target are in each other's place"),
        exchanged("gradient-and-input-exchanged", "grad_output", "input", named("*Backward") && !onlyShapes,
                  "the gradient of the output and the input are in each other's place"),
        exchanged("end-and-input-exchanged", "input", "end", every(), "a way is gone from its end to its beginning"),
        exchanged("factor-and-divisor-exchanged", "tensor1", "tensor2", named("Addcdiv*"),
                  "numerator and denominator are in each other's place"),
        exchanged("addend-and-factor-exchanged", "input", "tensor1", named("Addcmul* Addcdiv*"),
                  "the addend and a factor are in each other's place"),
        exchanged("moments-exchanged", "exp_avg", "exp_avg_sq", every(), "the two moments are in each other's place"),
        exchanged("betas-exchanged", "beta1", "beta2", every(), "the two decay rates are in each other's place"),
        exchanged("bounds-exchanged", "min", "max", every(), "the two bounds are in each other's place"),
        exchanged("statistics-exchanged", "running_mean", "running_var", every(),
                  "running mean and variance are in each other's place"),
        exchanged("weight-and-bias-exchanged", "weight", "bias", family("norm"),
                  "weight and bias of a norm are exchanged"),
        exchanged("alpha-and-beta-exchanged", "alpha", "beta", every(), "alpha and beta are in each other's place"),
        exchanged("alpha-and-gamma-exchanged", "alpha", "gamma", every(), "alpha and gamma are in each other's place"),
        exchanged("mean-and-deviation-exchanged", "mean", "std", family("random"), "mean and deviation are exchanged"),
        exchanged("sine-and-cosine-exchanged", "cos", "sin", every(), "sines and cosines are in each other's place"),
        exchanged("keys-and-values-exchanged", "k", "v", family("attention"), "keys and values are exchanged"),
        exchanged("save-statistics-exchanged", "save_mean", "save_invstd", family("norm"),
                  "mean and inverse deviation are in each other's place"),
        exchanged("weight-and-bias-gradients-exchanged", "grad_weight", "grad_bias", family("norm"),
                  "gradients of weight and bias are in each other's place"),
        exchanged("queries-and-keys-exchanged", "q", "k", family("attention"), "queries and keys are exchanged"),
    });

const Registration indices(
    "off by one",
    {
        shifted("dim-one-less", "dim", -1, every(), "dim counts as the one before it"),
        shifted("axis-one-less", "axis", -1, every(), "axis counts as the one before it"),
        shifted("index-one-more", "index", 1, named("Select*"), "the index counts as the next one"),
        shifted("start-one-more", "start", 1, named("Slice*"), "a slice begins one later"),
        shifted("end-one-less", "end", -1, named("Slice*"), "a slice ends one earlier"),
        shifted("diagonal-one-more", "diagonal", 1, every(), "the diagonal counts as the next one"),
        shifted("optimizer-step-one-more", "step", 1, family("optimizer"), "the step of an optimizer counts one more"),
        shifted("k-one-less", "k", -1, named("Topk"), "one fewer is selected"),
        shifted("blank-one-more", "blank", 1, named("CTCLoss*"), "the blank label counts as the next one"),
        shifted("ignored-index-one-more", "ignore_index", 1, every(), "the index to be ignored counts as the next one"),
        shifted("padding-index-one-more", "padding_idx", 1, named("EmbeddingBackward"),
                "the index of padding counts as the next one"),
        listItem(
            "dims-first-only", "dim", family("reduction"), [](std::vector<int64_t>& dims) { dims.resize(1); },
            "only the first of several dimensions is reduced"),
        listItem(
            "dims-reversed", "dims", named("Permute"),
            [](std::vector<int64_t>& dims) { std::vector<int64_t>(dims.rbegin(), dims.rend()).swap(dims); },
            "dimensions are permuted in reverse"),
        listItem(
            "shift-one-more", "shifts", named("Roll"), [](std::vector<int64_t>& shifts) { ++shifts.front(); },
            "elements are rolled one further"),
        listItem(
            "flip-first-only", "dims", named("Flip"), [](std::vector<int64_t>& dims) { dims.resize(1); },
            "only the first of several dimensions is flipped"),
        listItem(
            "pad-sides-exchanged", "pad", named("Pad"),
            [](std::vector<int64_t>& pad) {
                if (pad.size() > 1) std::swap(pad[0], pad[1]);
            },
            "padding before and behind is exchanged"),
        listItem(
            "padding-transposed", "padding", every(),
            [](std::vector<int64_t>& padding) { std::swap(padding.front(), padding.back()); },
            "padding of height and width is exchanged"),
        listItem(
            "stride-transposed", "stride", every(),
            [](std::vector<int64_t>& stride) { std::swap(stride.front(), stride.back()); },
            "strides of height and width are exchanged"),
        listItem(
            "dilation-transposed", "dilation", every(),
            [](std::vector<int64_t>& dilation) { std::swap(dilation.front(), dilation.back()); },
            "dilations of height and width are exchanged"),
        {"negative-index-from-0", "negative indices count as the first", having("index indices"),
         readThrough(
             [](const View& view) { return view.dtype() == diopi_dtype_int64 || view.dtype() == diopi_dtype_int32; },
             [](double number) { return number < 0 ? 0 : number; })},
    });

}  // namespace

}  // namespace diopigen::mutant
