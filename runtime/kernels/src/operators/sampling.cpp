// First versions of what makes the next token of a language model out of its logits.
#include <diopigen_kernels/operators.h>
#include <diopigen_kernels/serving/sampling.h>

#include <vector>

#include "launched.h"
#include "owners.h"

namespace diopigen::kernels::operators {
using namespace serving;

Status maskLogitsInp(const Launch& launch, Context ctx, Out logits, In top_k, In top_p, In min_p) {
    const Call call(ctx, "diopiMaskLogitsInp", {logits}, {logits, top_k, top_p, min_p}, {2, 3, 4});
    if (!call.haveRank({0}, 2) || !isFloat(call.dtype(0)) || !call.haveDtype({3, 4}, diopi_dtype_float32) ||
        !call.haveShape({2, 3, 4}, {call.shape(0)[0]})) {
        return call.rejected();
    }
    const int64_t rows = call.shape(0)[0], size = call.shape(0)[1];
    return launched(call, launch, [=](const Kernel& k) {
        const Input<int64_t> count(k, 2, {rows});
        const FloatInput mass(k, 3, {rows}), fraction(k, 4, {rows});
        ChangedFloats x(k, 0, 1, {rows, size});
        std::vector<int64_t> order(static_cast<std::size_t>(rows * size));
        each(rows, 16 * size,
             MaskRow{x.data(), order.data(), data_of(k, 2, count), data_of(k, 3, mass), data_of(k, 4, fraction), size});
        x.finish();
    });
}

Status penalizeLogitsInp(const Launch& launch, Context ctx, Out logits, In prompt_tokens, In output_tokens, In presence,
                         In frequency, In repetition) {
    const Call call(ctx, "diopiPenalizeLogitsInp", {logits},
                    {logits, prompt_tokens, output_tokens, presence, frequency, repetition});
    if (!call.isComplete() || !call.haveRank({0, 2, 3}, 2) || !isFloat(call.dtype(0)) ||
        !call.haveDtype({4, 5, 6}, diopi_dtype_float32) || !call.haveShape({4, 5, 6}, {call.shape(0)[0]}) ||
        call.shape(2)[0] != call.shape(0)[0] || call.shape(3)[0] != call.shape(0)[0]) {
        return call.rejected();
    }
    const Shape shape = call.shape(0), before = call.shape(2), after = call.shape(3);
    return launched(call, launch, [=](const Kernel& k) {
        const int64_t rows = shape[0], size = shape[1];
        const Input<int64_t> prompt(k, 2, before), output(k, 3, after);
        const FloatInput once(k, 4, {rows}), often(k, 5, {rows}), factor(k, 6, {rows});
        ChangedFloats x(k, 0, 1, shape);
        std::vector<int32_t> in_prompt(static_cast<std::size_t>(rows * size)), in_output(in_prompt.size());
        each(rows, size,
             CountTokens{in_prompt.data(), in_output.data(), prompt.data(), output.data(), size, before[1], after[1]});
        each(rows * size, 2,
             PenalizeLogit{x.data(), in_prompt.data(), in_output.data(), once.data(), often.data(), factor.data(),
                           size});
        x.finish();
    });
}

Status sampleTokens(const Launch& launch, Context ctx, Out tokens, In logits, In uniforms) {
    const Call call(ctx, "diopiSampleTokens", {tokens}, {logits, uniforms});
    if (!call.haveRank({1}, 2) || !isFloat(call.dtype(1)) || !call.haveDtype({0}, diopi_dtype_int64) ||
        !call.haveDtype({2}, diopi_dtype_float32) || !call.haveShape({0, 2}, {call.shape(1)[0]})) {
        return call.rejected();
    }
    const Shape shape = call.shape(1);
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput x(k, 1, shape), number(k, 2, {shape[0]});
        Output<int64_t> drawn(k, 0, {shape[0]});
        each(shape[0], 16 * shape[1], SampleToken{drawn.data(), x.data(), number.data(), shape[1]});
        drawn.finish();
    });
}

}  // namespace diopigen::kernels::operators
