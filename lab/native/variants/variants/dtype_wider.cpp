// Whole operators in the next wider dtype: operands are widened, the true function computes, results are rounded once
// to nearest and to even.
#include <algorithm>
#include <map>

#include "../work.h"

namespace diopigen::variants {

namespace {

struct Widening {
    diopiDtype_t from, to;
};

// Calls with every tensor of a narrow dtype exchanged for a copy in a wider one.
mutant::Behaviour widened(std::vector<Widening> widenings) {
    return [=](Call& call) {
        const mutant::Signature& signature = call.signature();
        std::map<const char*, View> narrow;
        std::vector<std::pair<const char*, View>> widerViews;
        for (int i = 0; i < signature.count; ++i) {
            const mutant::Parameter& parameter = signature.parameters[i];
            if (parameter.type != mutant::Type::tensor) continue;
            const View view = call.tensor(parameter.name);
            for (const Widening& widening : widenings) {
                if (!view.valid() || view.dtype() != widening.from) continue;
                const View copy(call.copyOf(view, widening.to));
                if (!copy.valid()) return call.forward();
                narrow[parameter.name] = view;
                widerViews.emplace_back(parameter.name, copy);
            }
        }
        // The call as it is says what is refused; an in-place form overwrites its operand, of which there is a copy.
        const diopiError_t status = call.forward();
        // Operands of other dtypes alone are rounded to that of the result, which must stay what it is.
        const bool readsNarrow = std::any_of(narrow.begin(), narrow.end(),
                                             [&](const auto& one) { return call.parameter(one.first)->isRead(); });
        if (status != diopiSuccess || !readsNarrow) return status;
        for (const auto& [name, copy] : widerViews) call.setTensor(name, copy.handle());
        const diopiError_t widely = call.forward();
        for (const auto& [name, copy] : widerViews) {
            const View& view = narrow[name];
            call.setTensor(name, view.handle());
            if (widely != diopiSuccess || !call.parameter(name)->isWritten()) continue;
            for (int64_t i = 0; i < view.count(); ++i) view.setReal(i, copy.real(i));
            call.acted();
        }
        return status;
    };
}

// Operators that say the same in every floating dtype, with numbers that the dtype of the operands does not round.
const char* const kOperators =
    "Softmax LogSoftmax SoftmaxBackward LogSoftmaxBackward Sum Mean Std Norm Cumsum Prod LayerNorm GroupNorm "
    "LayerNormBackward GroupNormBackward BatchNormBackward RMSNorm RMSNormBackward Mm Bmm Addmm Baddbmm Matmul Linear "
    "Convolution2d Convolution2dBackward ConvTranspose2d Gelu GeluBackward Silu SiluBackward Sigmoid SigmoidBackward "
    "Tanh "
    "TanhBackward Exp Log Sqrt Rsqrt Reciprocal MSELoss BCEWithLogits CrossEntropyLoss NLLLoss SmoothL1Loss AvgPool2d "
    "AdaptiveAvgPool2d AdaptiveAvgPool2dBackward AvgPool2dBackward UpsampleLinear UpsampleLinearBackward GridSample "
    "EmbeddingBackward Addcmul Addcdiv LerpTensor";

const Registration registration(
    "dtype",
    {{"halves-through-float32", "operators of halves compute in float32 and round their results to nearest and to even",
      named(kOperators),
      widened({{diopi_dtype_float16, diopi_dtype_float32}, {diopi_dtype_bfloat16, diopi_dtype_float32}})},
     {"float32-through-float64", "operators of float32 compute in float64 and round their results", named(kOperators),
      widened({{diopi_dtype_float32, diopi_dtype_float64}})}});

}  // namespace

}  // namespace diopigen::variants
