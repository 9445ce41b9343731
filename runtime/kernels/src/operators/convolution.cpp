#include <diopigen_kernels/elements.h>
#include <diopigen_kernels/image.h>
#include <diopigen_kernels/operators.h>

#include "launched.h"

namespace diopigen::kernels::operators {
namespace {

Convolution convolution_of(const Shape& image, const Shape& filter, const Shape& result, diopiSize_t stride,
                           diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    return {image, filter, result, shapeOf(stride), shapeOf(padding), shapeOf(dilation), groups};
}

}  // namespace

Status convolution2d(const Launch& launch, Context ctx, Out out, In input, In weight, In bias, diopiSize_t stride,
                     diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    const Call call(ctx, "diopiConvolution2d", {out}, {input, weight, bias}, {3});
    const Convolution plan =
        convolution_of(call.shape(1), call.shape(2), call.shape(0), stride, padding, dilation, groups);
    if (!plan.isSound() || !call.isOneFloat() || !call.haveShape({3}, {plan.filter[0]})) {
        return call.rejected();
    }
    return launched(call, launch, [plan](const Kernel& k) {
        store(k, 0, plan.forward(load(k, 1), load(k, 2), loadOr(k, 3, plan.filter[0], 0)));
    });
}

Status convolution2dBackward(const Launch& launch, Context ctx, Out grad_input, Out grad_weight, Out grad_bias,
                             In grad_output, In input, In weight, diopiSize_t* bias_sizes, diopiSize_t stride,
                             diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    const Call call(ctx, "diopiConvolution2dBackward", {grad_input, grad_weight, grad_bias},
                    {grad_output, input, weight}, {0, 1, 2});
    const Convolution plan =
        convolution_of(call.shape(4), call.shape(5), call.shape(3), stride, padding, dilation, groups);
    if (!plan.isSound() || !call.isOneFloat() || !call.haveShape({0}, call.shape(4)) ||
        !call.haveShape({1}, call.shape(5)) || !call.haveShape({2}, {plan.filter[0]})) {
        return call.rejected();
    }
    if (bias_sizes != nullptr && shapeOf(*bias_sizes) != Shape{plan.filter[0]}) {
        return call.rejected("bias_sizes is not the number of filters");
    }
    return launched(call, launch, [plan](const Kernel& k) {
        const Values gradient = load(k, 3);
        if (k.buffer(0).isTensor) {
            store(k, 0, plan.imageGradient(gradient, load(k, 5)));
        }
        if (k.buffer(1).isTensor) {
            store(k, 1, plan.filterGradient(gradient, load(k, 4)));
        }
        storeIfAny(k, 2, plan.biasGradient(gradient));
    });
}

}  // namespace diopigen::kernels::operators
