// Operators of droplet that go row by row: softmax, sums, norms. Tensors are seen with the dimensions that belong
// together behind the others, so that one loop over plain rows serves every dimension.
#include <diopigen_kernels/operators.h>
#include <diopigen_kernels/rows.h>

#include <cmath>

#include "droplet/kernel.h"

namespace impl {
namespace droplet {

namespace {

// For each row: kernels::alongDim.
template <typename Row>
diopiError_t alongRows(const Call& call, int64_t dim, Row row) {
    return answer(alongDim(call, dim, row, diopigen::sim::launchAtOnceIfSmall));
}

diopiError_t softmax(const Call& call, int64_t dim, bool isLog) {
    return alongRows(call, dim, [isLog](const auto* x, const auto*, auto* to, int64_t size) {
        if (isLog) {
            return logSoftmax(x, to, size);
        }
        const auto largest = largestOf(x, size);
        std::transform(x, x + size, to, [largest](auto each) { return std::exp(each - largest); });
        const double inverse = 1 / sumOf(to, size);
        std::transform(to, to + size, to, [inverse](auto each) { return each * inverse; });
    });
}

diopiError_t softmaxBackward(const Call& call, int64_t dim, bool isLog) {
    return alongRows(call, dim, [isLog](const auto* g, const auto* y, auto* to, int64_t size) {
        const double sum = isLog ? sumOf(g, size) : sumOf(size, [&](int64_t i) { return double{g[i]} * y[i]; });
        for (int64_t i = 0; i < size; ++i) {
            to[i] = isLog ? g[i] - std::exp(y[i]) * sum : (g[i] - sum) * y[i];
        }
    });
}

template <typename Fold>
diopiError_t reduce(const Call& call, const Shape& dims, Fold fold) {
    return answer(reduceDims(call, dims, fold, diopigen::sim::launchAtOnceIfSmall));
}

diopiError_t sum(const Call& call, const Shape& dims, bool isMean) {
    return answer(sumDims(call, dims, isMean, diopigen::sim::launchAtOnceIfSmall));
}

}  // namespace

diopiError_t diopiSoftmax(Context ctx, Out out, In input, int64_t dim) {
    return softmax(Call(ctx, "diopiSoftmax", {out}, {input, nullptr}, {2}), dim, false);
}
diopiError_t diopiLogSoftmax(Context ctx, Out out, In input, int64_t dim) {
    return softmax(Call(ctx, "diopiLogSoftmax", {out}, {input, nullptr}, {2}), dim, true);
}
diopiError_t diopiSoftmaxBackward(Context ctx, Out grad_input, In grad_output, In output, int64_t dim) {
    return softmaxBackward(Call(ctx, "diopiSoftmaxBackward", {grad_input}, {grad_output, output}), dim, false);
}
diopiError_t diopiLogSoftmaxBackward(Context ctx, Out grad_input, In grad_output, In output, int64_t dim) {
    return softmaxBackward(Call(ctx, "diopiLogSoftmaxBackward", {grad_input}, {grad_output, output}), dim, true);
}

diopiError_t diopiSum(Context ctx, Out out, In input, diopiSize_t dim) {
    return sum(Call(ctx, "diopiSum", {out}, {input}), shapeOf(dim), false);
}
diopiError_t diopiMean(Context ctx, Out out, In input, diopiSize_t dim) {
    return sum(Call(ctx, "diopiMean", {out}, {input}), shapeOf(dim), true);
}
diopiError_t diopiAll(Context ctx, Out out, In input, const int64_t* dim) {
    return reduce(Call(ctx, "diopiAll", {out}, {input}), dim == nullptr ? Shape{} : Shape{*dim},
                  [](const auto* x, int64_t size) { return std::find(x, x + size, 0) == x + size ? 1.0 : 0.0; });
}

diopiError_t diopiLayerNorm(Context ctx, Out out, Out save_mean, Out save_invstd, In input, In weight, In bias,
                            diopiSize_t normalized_shape, double eps) {
    return answer(operators::layerNorm(diopigen::sim::launchAtOnceIfSmall, ctx, out, save_mean, save_invstd, input,
                                       weight, bias, normalized_shape, eps));
}
diopiError_t diopiLayerNormBackward(Context ctx, Out grad_input, Out grad_weight, Out grad_bias, In grad_output,
                                    In input, In weight, In bias, In mean, In rstd, diopiSize_t normalized_shape) {
    return answer(operators::layerNormBackward(diopigen::sim::launchAtOnceIfSmall, ctx, grad_input, grad_weight,
                                               grad_bias, grad_output, input, weight, bias, mean, rstd,
                                               normalized_shape));
}
diopiError_t diopiRMSNorm(Context ctx, Out out, Out inv_rms, In input, diopiSize_t normalized_shape, In weight, In bias,
                          double eps) {
    return answer(operators::rmsNorm(diopigen::sim::launchAtOnceIfSmall, ctx, out, inv_rms, input, normalized_shape,
                                     weight, bias, eps));
}
diopiError_t diopiRMSNormBackward(Context ctx, Out grad_input, Out grad_weight, Out grad_bias, In grad_output, In input,
                                  In weight, In bias, In inv_rms, diopiSize_t normalized_shape, double eps) {
    return answer(operators::rmsNormBackward(diopigen::sim::launchAtOnceIfSmall, ctx, grad_input, grad_weight,
                                             grad_bias, grad_output, input, weight, bias, inv_rms, normalized_shape,
                                             eps));
}
diopiError_t diopiBatchNorm(Context ctx, Out out, Out save_mean, Out save_invstd, In input, In weight, In bias,
                            Out running_mean, Out running_var, bool training, double momentum, double eps) {
    return answer(operators::batchNorm(diopigen::sim::launchAtOnceIfSmall, ctx, out, save_mean, save_invstd, input,
                                       weight, bias, running_mean, running_var, training, momentum, eps));
}
diopiError_t diopiBatchNormBackward(Context ctx, Out grad_input, Out grad_weight, Out grad_bias, In grad_output,
                                    In input, In weight, In running_mean, In running_var, In save_mean, In save_invstd,
                                    bool training, double eps) {
    return answer(operators::batchNormBackward(diopigen::sim::launchAtOnceIfSmall, ctx, grad_input, grad_weight,
                                               grad_bias, grad_output, input, weight, running_mean, running_var,
                                               save_mean, save_invstd, training, eps));
}

}  // namespace droplet
}  // namespace impl
