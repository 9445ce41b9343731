#include <diopigen_kernels/operators.h>
#include <diopigen_kernels/processor.h>
#include <diopigen_kernels/rows.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "launched.h"

namespace diopigen::kernels::operators {
namespace {

// A norm over rows: layer norm and RMS norm have a weight for each column, batch norm for each row.
struct Norm {
    int64_t rows, size;
    bool is_per_row;
    Shape weight, statistics;  // their shapes
    int64_t weights() const { return is_per_row ? rows : size; }
};

// Over the trailing sizes `inner` of `shape`; no rows where they do not fit.
Norm over_trailing(const Shape& shape, const Shape& inner) {
    const auto lead = static_cast<int64_t>(shape.size() - std::min(shape.size(), inner.size()));
    if (inner.empty() || !std::equal(inner.begin(), inner.end(), shape.begin() + lead, shape.end())) {
        return {};
    }
    Shape outer = shape;
    std::fill(outer.begin() + lead, outer.end(), 1);
    return {product(outer), product(inner), false, inner, outer};
}

// Over all but the channels, which become the rows of result 0 and of these operands.
Norm over_channels(Call* call, Positions operands) {
    const Shape shape = call->shape(0);
    if (shape.size() < 2 || product(shape) == 0 || !call->haveShape(operands, shape)) {
        return {};
    }
    Shape others(shape.size() - 1);
    std::iota(others.begin() + 1, others.end(), 2);  // 0, 2, 3 ...
    call->moveLast(others, {0});
    call->moveLast(others, operands);
    return {shape[1], product(shape) / shape[1], true, {shape[1]}, {shape[1]}};
}

// Results: 0 normalised values, 1 inverse deviation, 2 mean; without it nothing is centred. Batch norm has 3 and 4 for
// the running mean and variance. Operands: input, weight, bias, and the running ones as they were.
Status normalize(const Launch& launch, const Call& call, const Norm& norm, double eps, double momentum = 0) {
    const int in = norm.is_per_row ? 5 : 3;
    if (norm.rows == 0 || !call.isOneFloat() || !call.haveShape({in}, call.shape(0)) ||
        !call.haveShape({1, 2}, norm.statistics) || !call.haveShape({in + 1, in + 2}, norm.weight) ||
        (norm.is_per_row && !call.haveShape({3, 4}, norm.statistics))) {
        return call.rejected();
    }
    return launched(call, launch, [=, shape = call.shape(0)](const Kernel& k) {
        Values mean(static_cast<size_t>(norm.rows)), variance(mean.size()), inverse(mean.size());
        const Values weight = loadOr(k, in + 1, norm.weights(), 1), bias = loadOr(k, in + 2, norm.weights(), 0);
        const bool is_centred = k.buffer(2).isTensor;
        const auto size = static_cast<double>(norm.size);
        const FloatInput input(k, in, shape);
        FloatOutput out(k, 0, shape);
        const auto rows = [&](int64_t first, int64_t last) {
            // Of its own: the compiler need not ask whether what is written changes them.
            const int64_t count = norm.size;
            const double *const factors = weight.data(), *const shifts = bias.data();
            for (int64_t row = first; row < last; ++row) {
                const float* const x = input.data() + row * count;
                float* const to = out.data() + row * count;
                const double center = is_centred ? sumOf(x, count) / size : 0;
                const double squares =
                    sumOf(count, [=](int64_t i) { return (x[i] - center) * (x[i] - center); }) / size;
                const double scale = 1 / std::sqrt(squares + eps);
                if (norm.is_per_row) {
                    const double factor = factors[row], shift = shifts[row];
                    for (int64_t i = 0; i < count; ++i) {
                        to[i] = static_cast<float>((x[i] - center) * scale * factor + shift);
                    }
                } else {
                    for (int64_t i = 0; i < count; ++i) {
                        to[i] = static_cast<float>((x[i] - center) * scale * factors[i] + shifts[i]);
                    }
                }
                mean[row] = center;
                variance[row] = squares;
                inverse[row] = scale;
            }
        };
        forRanges(norm.rows, grainOf(norm.size),
                  [&](int64_t first, int64_t last) { withVectors([&] { rows(first, last); }); });
        if (norm.is_per_row && k.buffer(3).isTensor) {
            Values running_mean = load(k, in + 3), running_variance = load(k, in + 4);
            for (size_t row = 0; row < mean.size(); ++row) {
                running_mean[row] += momentum * (mean[row] - running_mean[row]);
                running_variance[row] += momentum * (variance[row] * size / (size - 1) - running_variance[row]);
            }
            store(k, 3, running_mean);
            store(k, 4, running_variance);
        }
        out.finish();
        store(k, 1, inverse);
        storeIfAny(k, 2, mean);
    });
}

// Results: the gradients of input, weight and bias. Operands: gradient, input, weight, inverse deviation, mean (without
// it nothing is centred), and but for batch norm the bias, which counts for its shape alone.
Status normalize_backward(const Launch& launch, const Call& call, const Norm& norm) {
    if (norm.rows == 0 || !call.isOneFloat() || !call.haveShape({3, 4}, call.shape(0)) ||
        !call.haveShape({1, 2, 5}, norm.weight) || !call.haveShape({6, 7}, norm.statistics) ||
        (!norm.is_per_row && (!call.haveShape({8}, norm.weight) || call.has(2) != call.has(8)))) {
        return call.rejected();
    }
    return launched(call, launch, [=, shape = call.shape(0)](const Kernel& k) {
        const Values weight = loadOr(k, 5, norm.weights(), 1), inverse = load(k, 6);
        const Values mean = loadOr(k, 7, norm.rows, 0);
        const FloatInput grad(k, 3, shape), input(k, 4, shape);
        FloatOutput out(k, 0, shape);
        Values weight_grad(weight.size()), bias_grad(weight.size());
        const bool is_centred = k.buffer(7).isTensor;
        const auto compute = [&](int64_t row) {
            const float *const g = grad.data() + row * norm.size, *const x = input.data() + row * norm.size;
            float* const to = out.data() + row * norm.size;
            const double center = mean[row], scale = inverse[row];
            const auto normalised = [&](int64_t i) { return (x[i] - center) * scale; };
            // The gradient of the normalised values, their mean, and that of their products with these values.
            const auto between = [&](auto gradient) {
                const auto size = static_cast<double>(norm.size);
                const double shift = is_centred ? sumOf(norm.size, gradient) / size : 0;
                const double slope = sumOf(norm.size, [&](int64_t i) { return gradient(i) * normalised(i); }) / size;
                for (int64_t i = 0; i < norm.size; ++i) {
                    to[i] = static_cast<float>(scale * (gradient(i) - shift - normalised(i) * slope));
                }
            };
            if (norm.is_per_row) {
                weight_grad[row] = sumOf(norm.size, [&](int64_t i) { return g[i] * normalised(i); });
                bias_grad[row] = sumOf(g, norm.size);
                between([&, factor = weight[row]](int64_t i) { return g[i] * factor; });
            } else {
                for (int64_t i = 0; i < norm.size; ++i) {
                    weight_grad[i] += g[i] * normalised(i);
                    bias_grad[i] += g[i];
                }
                between([&](int64_t i) { return g[i] * weight[i]; });
            }
        };
        withVectors([&] {
            for (int64_t row = 0; row < norm.rows; ++row) {
                compute(row);
            }
        });
        out.finish();
        storeIfAny(k, 1, weight_grad);
        storeIfAny(k, 2, bias_grad);
    });
}

// Batch norm by running statistics. Operands: input, weight, bias, running mean and variance.
Status evaluate(const Launch& launch, const Call& call, double eps) {
    const Shape shape = call.shape(1);
    if (shape.size() < 2 || !call.isOneFloat() || !call.haveShape({0}, shape) ||
        !call.haveShape({2, 3, 4, 5}, {shape[1]})) {
        return call.rejected();
    }
    return launched(call, launch, [=, channels = shape[1]](const Kernel& k) {
        const Values weight = loadOr(k, 2, channels, 1), bias = loadOr(k, 3, channels, 0);
        const Values mean = load(k, 4), variance = load(k, 5);
        const int64_t inner = product(shape) / (shape[0] * channels);
        Values x = load(k, 1);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const int64_t c = static_cast<int64_t>(i) / inner % channels;
            x[i] = (x[i] - mean[c]) / std::sqrt(variance[c] + eps) * weight[c] + bias[c];
        }
        store(k, 0, x);
    });
}

}  // namespace

Status layerNorm(const Launch& launch, Context ctx, Out out, Out save_mean, Out save_invstd, In input, In weight,
                 In bias, diopiSize_t normalized_shape, double eps) {
    const Call call(ctx, "diopiLayerNorm", {out, save_invstd, save_mean}, {input, weight, bias}, {4, 5});
    return normalize(launch, call, over_trailing(call.shape(3), shapeOf(normalized_shape)), eps);
}
Status layerNormBackward(const Launch& launch, Context ctx, Out grad_input, Out grad_weight, Out grad_bias,
                         In grad_output, In input, In weight, In bias, In mean, In rstd, diopiSize_t normalized_shape) {
    const Call call(ctx, "diopiLayerNormBackward", {grad_input, grad_weight, grad_bias},
                    {grad_output, input, weight, rstd, mean, bias});
    return normalize_backward(launch, call, over_trailing(call.shape(4), shapeOf(normalized_shape)));
}

Status rmsNorm(const Launch& launch, Context ctx, Out out, Out inv_rms, In input, diopiSize_t normalized_shape,
               In weight, In bias, double eps) {
    const Call call(ctx, "diopiRMSNorm", {out, inv_rms, nullptr}, {input, weight, bias}, {2, 4, 5});
    return normalize(launch, call, over_trailing(call.shape(3), shapeOf(normalized_shape)), eps);
}
Status rmsNormBackward(const Launch& launch, Context ctx, Out grad_input, Out grad_weight, Out grad_bias,
                       In grad_output, In input, In weight, In bias, In inv_rms, diopiSize_t normalized_shape,
                       double /*eps*/) {
    const Call call(ctx, "diopiRMSNormBackward", {grad_input, grad_weight, grad_bias},
                    {grad_output, input, weight, inv_rms, nullptr, bias}, {2, 7, 8});
    return normalize_backward(launch, call, over_trailing(call.shape(4), shapeOf(normalized_shape)));
}

Status batchNorm(const Launch& launch, Context ctx, Out out, Out save_mean, Out save_invstd, In input, In weight,
                 In bias, Out running_mean, Out running_var, bool training, double momentum, double eps) {
    if (!training) {
        return evaluate(
            launch, Call(ctx, "diopiBatchNorm", {out}, {input, weight, bias, running_mean, running_var}, {2, 3}), eps);
    }
    Call call(ctx, "diopiBatchNorm", {out, save_invstd, save_mean, running_mean, running_var},
              {input, weight, bias, running_mean, running_var}, {3, 4, 6, 7, 8, 9});
    const Norm norm = over_channels(&call, {5});
    if (norm.size < 2 || call.has(3) != call.has(4)) {
        return call.rejected();
    }
    return normalize(launch, call, norm, eps, momentum);
}

Status batchNormBackward(const Launch& launch, Context ctx, Out grad_input, Out grad_weight, Out grad_bias,
                         In grad_output, In input, In weight, In /*running_mean*/, In /*running_var*/, In save_mean,
                         In save_invstd, bool training, double /*eps*/) {
    Call call(ctx, "diopiBatchNormBackward", {grad_input, grad_weight, grad_bias},
              {grad_output, input, weight, save_invstd, save_mean}, {1, 2, 5});
    return training ? normalize_backward(launch, call, over_channels(&call, {3, 4})) : call.rejected("evaluation");
}

}  // namespace diopigen::kernels::operators
