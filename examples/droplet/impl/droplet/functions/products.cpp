// Sums of products: matrices and convolution.
#include <diopigen/elementwise/functions.h>
#include <diopigen_kernels/image.h>
#include <diopigen_kernels/operators.h>
#include <diopigen_kernels/products.h>

#include "droplet/kernel.h"

namespace impl {
namespace droplet {

namespace {

diopiError_t multiply(const Call& call, bool isBatched, double alpha = 1, double beta = 1) {
    return answer(multiplyTensors(call, isBatched, alpha, beta, diopigen::sim::launchAtOnceIfSmall));
}

}  // namespace

diopiError_t diopiMm(Context ctx, Out out, In input, In mat2) {
    const Call call(ctx, "diopiMm", {out}, {input, mat2, nullptr}, {3});
    return call.haveRank({0}, 2) ? multiply(call, false) : leave(call);
}
diopiError_t diopiBmm(Context ctx, Out out, In input, In mat2) {
    const Call call(ctx, "diopiBmm", {out}, {input, mat2, nullptr}, {3});
    return call.haveRank({0}, 3) ? multiply(call, true) : leave(call);
}
diopiError_t diopiAddmm(Context ctx, Out out, In input, In mat1, In mat2, const diopiScalar_t* beta,
                        const diopiScalar_t* alpha) {
    const Call call(ctx, "diopiAddmm", {out}, {mat1, mat2, input});
    const diopigen::elementwise::Number a(alpha), b(beta);
    return call.rank(0) == 2 && a.isNumber() && b.isNumber() ? multiply(call, false, a.value(), b.value())
                                                             : leave(call);
}
diopiError_t diopiLinear(Context ctx, Out out, In input, In weight, In bias) {
    Call call(ctx, "diopiLinear", {out}, {input, weight, bias}, {3});
    // The weight is [n, k], and seen as its transpose.
    const bool isPlain = call.rank(2) == 2 && call.haveShape({3}, {call.shape(2)[0]}) && call.moveLast({0}, {2});
    return isPlain ? multiply(call, false) : leave(call);
}

// Images are laid out in memory as NHWC, which the shims see to; shapes are counted as NCHW.
diopiError_t diopiConvolution2d(Context ctx, Out out, In input, In weight, In bias, diopiSize_t stride,
                                diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    const Call call(ctx, "diopiConvolution2d", {out}, {input, weight, bias}, {3});
    const Convolution plan{call.shape(1),    call.shape(2),     call.shape(0), shapeOf(stride),
                           shapeOf(padding), shapeOf(dilation), groups};
    if (!plan.isSound() || !call.isOneFloat() || !call.haveShape({3}, {plan.filter[0]})) {
        return leave(call);
    }
    return run(call, [plan](const Kernel& k) {
        store(k, 0, plan.forward(load(k, 1), load(k, 2), loadOr(k, 3, plan.filter[0], 0)));
    });
}
diopiError_t diopiConvolution2dBackward(Context ctx, Out grad_input, Out grad_weight, Out grad_bias, In grad_output,
                                        In input, In weight, diopiSize_t* bias_sizes, diopiSize_t stride,
                                        diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    return answer(operators::convolution2dBackward(diopigen::sim::launchAtOnceIfSmall, ctx, grad_input, grad_weight,
                                                   grad_bias, grad_output, input, weight, bias_sizes, stride, padding,
                                                   dilation, groups));
}

}  // namespace droplet
}  // namespace impl
