#include <diopigen_kernels/operators.h>
#include <diopigen_kernels/rows.h>

#include <algorithm>
#include <cmath>

namespace diopigen::kernels::operators {
namespace {

Status sum_or_mean(const Launch& launch, const Call& call, diopiSize_t dim, bool isMean) {
    return call.isOneFloat() ? sumDims(call, shapeOf(dim), isMean, launch) : call.rejected();
}

}  // namespace

Status sum(const Launch& launch, Context ctx, Out out, In input, diopiSize_t dim) {
    return sum_or_mean(launch, Call(ctx, "diopiSum", {out}, {input}), dim, false);
}

Status mean(const Launch& launch, Context ctx, Out out, In input, diopiSize_t dim) {
    return sum_or_mean(launch, Call(ctx, "diopiMean", {out}, {input}), dim, true);
}

Status softmax(const Launch& launch, Context ctx, Out out, In input, int64_t dim) {
    const auto row = [](const auto* x, const auto*, auto* to, int64_t size) {
        const auto largest = largestOf(x, size);
        std::transform(x, x + size, to, [largest](auto each) { return std::exp(each - largest); });
        const double inverse = 1 / sumOf(to, size);
        std::transform(to, to + size, to, [inverse](auto each) { return each * inverse; });
    };
    return alongDim(Call(ctx, "diopiSoftmax", {out}, {input, nullptr}, {2}), dim, row, launch);
}

Status softmaxBackward(const Launch& launch, Context ctx, Out grad_input, In grad_output, In output, int64_t dim) {
    const auto row = [](const auto* g, const auto* y, auto* to, int64_t size) {
        const double sum = sumOf(size, [&](int64_t i) { return double{g[i]} * y[i]; });
        std::transform(g, g + size, y, to, [sum](auto each, auto share) { return (each - sum) * share; });
    };
    return alongDim(Call(ctx, "diopiSoftmaxBackward", {grad_input}, {grad_output, output}), dim, row, launch);
}

Status logSoftmax(const Launch& launch, Context ctx, Out out, In input, int64_t dim) {
    const auto row = [](const auto* x, const auto*, auto* to, int64_t size) { kernels::logSoftmax(x, to, size); };
    return alongDim(Call(ctx, "diopiLogSoftmax", {out}, {input, nullptr}, {2}), dim, row, launch);
}

Status logSoftmaxBackward(const Launch& launch, Context ctx, Out grad_input, In grad_output, In output, int64_t dim) {
    const auto row = [](const auto* g, const auto* y, auto* to, int64_t size) {
        const double sum = sumOf(g, size);
        std::transform(g, g + size, y, to, [sum](auto each, auto log) { return each - std::exp(log) * sum; });
    };
    return alongDim(Call(ctx, "diopiLogSoftmaxBackward", {grad_input}, {grad_output, output}), dim, row, launch);
}

}  // namespace diopigen::kernels::operators
