// Arguments that are not looked at: a neutral value takes the place of what the caller asks for.
#include "../fault.h"

namespace diopigen::mutant {

namespace {

// The number `name` counts as `neutral` in all functions that have it.
Fault ignored(const char* name, double neutral, const char* sentence, Selector where = every()) {
    const std::string fault = std::string(name) + "-ignored";
    return {fault, sentence, having(name) && std::move(where),
            beforehand([=](Call& call) { return call.setNumber(name, neutral); })};
}

Fault leftOut(const char* name, const char* sentence, Selector where = every()) {
    const std::string fault = std::string(name) + "-left-out";
    return {fault, sentence, having(name) && std::move(where),
            beforehand([=](Call& call) { return call.setNull(name); })};
}

Fault inverted(const char* name, const char* sentence, Selector where = every()) {
    const std::string fault = std::string(name) + "-inverted";
    return {fault, sentence, having(name) && std::move(where),
            beforehand([=](Call& call) { return call.setNumber(name, call.number(name).value_or(0) == 0 ? 1 : 0); })};
}

Fault renamed(const char* fault, const char* name, const char* value, const char* sentence) {
    return {fault, sentence, having(name), beforehand([=](Call& call) {
                const auto text = call.text(name);
                if (!text.has_value() || *text == value) return false;
                call.setText(name, value);
                return true;
            })};
}

const Registration numbers(
    "argument ignored",
    {
        ignored("alpha", 1, "alpha counts as 1"),
        ignored("beta", 1, "beta counts as 1"),
        ignored("eps", 1e-12, "epsilon counts as nothing", !named("BatchNormElemt RMSNormBackward")),
        ignored("momentum", 0.1, "momentum counts as 0.1"),
        ignored("weight_decay", 0, "weights do not decay"),
        ignored("dampening", 0, "momentum is not dampened"),
        ignored("rho", 0.9, "rho counts as 0.9"),
        ignored("lr", 0.01, "the learning rate counts as 0.01"),
        ignored("beta1", 0.9, "beta1 counts as 0.9"),
        ignored("beta2", 0.999, "beta2 counts as 0.999"),
        ignored("label_smoothing", 0, "labels are not smoothed"),
        ignored("gamma", 2, "gamma of the focal loss counts as 2"),
        ignored("blank", 0, "the blank label counts as 0"),
        ignored("correction", 1, "the correction of a deviation counts as 1"),
        ignored("p", 2, "the exponent of a norm, or a probability, counts as 2 or certain"),
        ignored("ord", 2, "the order of a norm counts as 2"),
        ignored("norm_type", 2, "the type of a norm counts as 2"),
        ignored("max_norm", 1, "the largest norm counts as 1"),
        ignored("diagonal", 0, "the diagonal counts as 0"),
        ignored("value", 1, "value counts as 1"),
        ignored("scale", 1, "scale counts as 1"),
        ignored("softmax_scale", 1, "the scale of a softmax counts as 1"),
        ignored("negative_slope", 0.01, "the slope of negatives counts as 0.01"),
        ignored("threshold", 0, "the threshold counts as 0"),
        ignored("min_val", -1, "the lower end counts as -1"),
        ignored("max_val", 1, "the upper end counts as 1"),
        ignored("dim", 0, "dim counts as 0"),
        ignored("axis", 0, "axis counts as 0"),
        ignored("step", 1, "step counts as 1"),
        ignored("start", 0, "start counts as 0"),
        ignored("groups", 1, "groups counts as 1"),
        ignored("num_groups", 1, "the number of groups counts as 1"),
        ignored("ignore_index", -100, "the index to be ignored counts as -100"),
        ignored("padding_idx", -1, "the index of padding counts as none", named("EmbeddingBackward")),
        ignored("rounding_mode", 0, "the rounding of a quotient counts as none"),
        ignored("window_size_left", -1, "the window to the left counts as unlimited"),
        ignored("window_size_right", -1, "the window to the right counts as unlimited"),
        ignored("dropout_p", 0, "nothing is dropped out of attention"),
        ignored("begin_norm_axis", 1, "the first normalised dimension counts as 1"),
        ignored("growth_interval", 1, "the interval of growth counts as 1"),
        ignored("scale_growth_factor", 2, "the factor of growth counts as 2"),
        ignored("scale_backoff_factor", 0.5, "the factor of backing off counts as 0.5"),
    });

const Registration optional("argument left out",
                            {
                                leftOut("bias", "the bias counts as none", !named("*Backward*")),
                                leftOut("weight", "the weight counts as none", family("norm loss")),
                                leftOut("scale", "the scale of a norm counts as none", family("norm")),
                                leftOut("pos_weight", "the weight of positives counts as none"),
                                leftOut("mask", "the mask of attention counts as none", family("attention")),
                                leftOut("attention_mask", "the mask of attention counts as none"),
                                leftOut("attenMask", "the mask of paged attention counts as none"),
                                leftOut("atten_mask", "the mask of attention counts as none"),
                                leftOut("alibi_slopes", "slopes of positions count as none"),
                                leftOut("min", "the lower bound counts as none"),
                                leftOut("max", "the upper bound counts as none"),
                                leftOut("divisor_override", "the divisor of a mean is not overridden"),
                                leftOut("max_exp_avg_sq", "the largest second moment counts as none"),
                                leftOut("buf", "the buffer of momentum counts as none"),
                                leftOut("running_mean", "the running mean counts as none", !named("*Backward*")),
                                leftOut("running_var", "the running variance counts as none", !named("*Backward*")),
                            });

const Registration flags(
    "flag inverted",
    {
        inverted("count_include_pad", "padding counts where it does not, and the reverse"),
        inverted("exclusive", "padding counts where it does not, and the reverse"),
        inverted("align_corners", "corners are aligned where they are not, and the reverse"),
        inverted("training", "training is evaluation, and the reverse"),
        inverted("train", "training is evaluation, and the reverse"),
        inverted("nesterov", "Nesterov's momentum is taken where it is not, and the reverse"),
        inverted("amsgrad", "the largest second moment is taken where it is not, and the reverse"),
        inverted("centered", "the second moment is centered where it is not, and the reverse"),
        inverted("maximize", "the loss grows where it shrinks, and the reverse"),
        inverted("is_causal", "attention is causal where it is not, and the reverse"),
        inverted("interleaved", "pairs of a rotation are taken as adjacent where they are not, and the reverse"),
        inverted("conj", "rotations turn the other way"),
        inverted("descending", "the order is reversed"),
        inverted("largest", "the smallest are taken for the largest"),
        inverted("accumulate", "values replace where they are added, and the reverse"),
        inverted("replacement", "draws are put back where they are not, and the reverse"),
        inverted("scale_grad_byfreq", "gradients are divided by how often an index comes where they are not",
                 named("EmbeddingBackward")),
        inverted("zero_infinity", "infinite losses are kept where they are zeroed, and the reverse"),
        inverted("input_is_result", "the result is taken for the input, and the reverse"),
        inverted("fixed_triu_mask", "the mask is triangular where it is not, and the reverse"),
    });

const Registration words(
    "word ignored",
    {
        renamed("gelu-always-exact", "approximate", "none", "GELU is never approximated by tanh"),
        renamed("gelu-always-by-tanh", "approximate", "tanh", "GELU is always approximated by tanh"),
        renamed("mode-bilinear", "mode", "bilinear", "images are always sampled bilinearly"),
        renamed("mode-nearest", "mode", "nearest", "images are always sampled at the nearest place"),
        renamed("mode-constant", "mode", "constant", "padding is always constant"),
        renamed("mode-reflect", "mode", "reflect", "padding always reflects"),
        renamed("mode-max", "mode", "max", "pools always take the largest"),
        renamed("mode-average", "mode", "avg", "pools always take the mean"),
        renamed("reduce-add", "reduce", "add", "scattered values are always added"),
        renamed("reduce-none", "reduce", "", "scattered values always replace"),
        renamed("reduce-multiply", "reduce", "multiply", "scattered values are always multiplied"),
        {"reduction-mean-as-sum", "a mean over elements is their sum", having("reduction"), beforehand([](Call& call) {
             return call.number("reduction") == static_cast<double>(ReductionMean) &&
                    call.setNumber("reduction", ReductionSum);
         })},
        {"reduction-sum-as-mean", "a sum of elements is their mean", having("reduction"), beforehand([](Call& call) {
             return call.number("reduction") == static_cast<double>(ReductionSum) &&
                    call.setNumber("reduction", ReductionMean);
         })},
        {"floor-as-truncation", "a quotient that is rounded down is rounded towards zero", having("rounding_mode"),
         beforehand([](Call& call) {
             return call.number("rounding_mode") == static_cast<double>(RoundModeFloor) &&
                    call.setNumber("rounding_mode", RoundModeTrunc);
         })},
    });

}  // namespace

}  // namespace diopigen::mutant
