// Image unit of kestrel. Memory has the channels last, which the shims see to; shapes are counted as NCHW.
#include <diopi/functions.h>
#include <diopigen_kernels/image.h>

#include <cmath>

#include "kestrel/kernel.h"

namespace impl {
namespace kestrel {

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
    const Call call(ctx, "diopiConvolution2dBackward", {grad_input, grad_weight, grad_bias},
                    {grad_output, input, weight}, {0, 2});
    const Convolution plan{call.shape(4),    call.shape(5),     call.shape(3), shapeOf(stride),
                           shapeOf(padding), shapeOf(dilation), groups};
    if (!plan.isSound() || !call.isOneFloat() || !call.haveShape({0}, plan.image) ||
        !call.haveShape({1}, plan.filter) || !call.haveShape({2}, {plan.filter[0]})) {
        return leave(call);
    }
    if (bias_sizes != nullptr && shapeOf(*bias_sizes) != Shape{plan.filter[0]}) {
        return leave(call, "bias_sizes is not the number of filters");
    }
    return run(call, [plan](const Kernel& k) {
        const Values g = load(k, 3);
        storeIfAny(k, 0, plan.imageGradient(g, load(k, 5)));
        store(k, 1, plan.filterGradient(g, load(k, 4)));
        storeIfAny(k, 2, plan.biasGradient(g));
    });
}

namespace {

// Channels are dimension 1: the channel of an element in row-major order, and the number of elements of each.
struct Channels {
    explicit Channels(const Shape& shape)
        : count(shape[1]), inner(product(Shape(shape.begin() + 2, shape.end()))), size(product(shape) / shape[1]) {}
    size_t of(size_t element) const { return element / inner % count; }
    size_t count, inner, size;
};

}  // namespace

diopiError_t diopiBatchNorm(Context ctx, Out out, Out save_mean, Out save_invstd, In input, In weight, In bias,
                            Out running_mean, Out running_var, bool training, double momentum, double eps) {
    const Call call(ctx, "diopiBatchNorm", {out, save_mean, save_invstd, running_mean, running_var},
                    {input, weight, bias, running_mean, running_var});
    if (!training || !call.isOneFloat() || call.rank(5) < 2 || product(call.shape(5)) == call.shape(5)[1]) {
        return leave(call, training ? nullptr : "evaluation");
    }
    if (!call.haveShape({0}, call.shape(5)) || !call.haveShape({1, 2, 3, 4, 6, 7}, {call.shape(5)[1]})) {
        return leave(call);
    }
    return run(call, [=, c = Channels(call.shape(5))](const Kernel& k) {
        Values x = load(k, 5), mean(c.count), variance(c.count);
        const Values scale = load(k, 6), shift = load(k, 7);
        Values runningMean = load(k, 8), runningVariance = load(k, 9);
        for (size_t i = 0; i < x.size(); ++i) {
            mean[c.of(i)] += x[i] / static_cast<double>(c.size);
        }
        for (size_t i = 0; i < x.size(); ++i) {
            x[i] -= mean[c.of(i)];
            variance[c.of(i)] += x[i] * x[i] / static_cast<double>(c.size);
        }
        for (size_t channel = 0; channel < c.count; ++channel) {
            const double unbiased = variance[channel] * c.size / (c.size - 1);
            runningMean[channel] += momentum * (mean[channel] - runningMean[channel]);
            runningVariance[channel] += momentum * (unbiased - runningVariance[channel]);
            variance[channel] = 1 / std::sqrt(variance[channel] + eps);
        }
        for (size_t i = 0; i < x.size(); ++i) {
            x[i] = x[i] * variance[c.of(i)] * scale[c.of(i)] + shift[c.of(i)];
        }
        store(k, 0, x);
        store(k, 1, mean);
        store(k, 2, variance);
        store(k, 3, runningMean);
        store(k, 4, runningVariance);
    });
}

diopiError_t diopiBatchNormBackward(Context ctx, Out grad_input, Out grad_weight, Out grad_bias, In grad_output,
                                    In input, In weight, In /*running_mean*/, In /*running_var*/, In save_mean,
                                    In save_invstd, bool training, double /*eps*/) {
    const Call call(ctx, "diopiBatchNormBackward", {grad_input, grad_weight, grad_bias},
                    {grad_output, input, weight, save_mean, save_invstd});
    if (!training || !call.isOneFloat() || call.rank(4) < 2 || !call.haveShape({0, 3}, call.shape(4)) ||
        !call.haveShape({1, 2, 5, 6, 7}, {call.shape(4)[1]})) {
        return leave(call, training ? nullptr : "evaluation");
    }
    return run(call, [c = Channels(call.shape(4))](const Kernel& k) {
        const Values g = load(k, 3), scale = load(k, 5), mean = load(k, 6), inverse = load(k, 7);
        Values x = load(k, 4), sum(c.count), dot(c.count);
        for (size_t i = 0; i < x.size(); ++i) {
            x[i] = (x[i] - mean[c.of(i)]) * inverse[c.of(i)];
            sum[c.of(i)] += g[i];
            dot[c.of(i)] += g[i] * x[i];
        }
        for (size_t i = 0; i < x.size(); ++i) {
            const double shared = (sum[c.of(i)] + x[i] * dot[c.of(i)]) / static_cast<double>(c.size);
            x[i] = scale[c.of(i)] * inverse[c.of(i)] * (g[i] - shared);
        }
        store(k, 0, x);
        store(k, 1, dot);
        store(k, 2, sum);
    });
}

}  // namespace kestrel
}  // namespace impl
