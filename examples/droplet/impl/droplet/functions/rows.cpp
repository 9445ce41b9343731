// Operators of droplet that go row by row: softmax, sums, norms. Tensors are seen with the dimensions that belong
// together behind the others, so that one loop over plain rows serves every dimension.
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
    return alongRows(call, dim, [isLog](double* x, const double*, int64_t size) {
        const double largest = *std::max_element(x, x + size);
        double sum = 0;
        for (int64_t i = 0; i < size; ++i) {
            x[i] -= largest;
            sum += std::exp(static_cast<float>(x[i]));
        }
        for (int64_t i = 0; i < size; ++i) {
            x[i] = isLog ? x[i] - std::log(sum) : std::exp(static_cast<float>(x[i])) / sum;
        }
    });
}

diopiError_t softmaxBackward(const Call& call, int64_t dim, bool isLog) {
    return alongRows(call, dim, [isLog](double* g, const double* y, int64_t size) {
        double sum = 0;
        for (int64_t i = 0; i < size; ++i) {
            sum += g[i] * (isLog ? 1 : y[i]);
        }
        for (int64_t i = 0; i < size; ++i) {
            g[i] = isLog ? g[i] - std::exp(y[i]) * sum : (g[i] - sum) * y[i];
        }
    });
}

template <typename Fold>
diopiError_t reduce(const Call& call, const Shape& dims, double start, Fold fold, bool isMean = false) {
    return answer(reduceDims(call, dims, start, fold, isMean, diopigen::sim::launchAtOnceIfSmall));
}

// A norm over rows: layer norm and RMS norm have a weight for each column, batch norm for each row.
struct Norm {
    int64_t rows, size;
    bool isPerRow;
    Shape weight, statistics;  // their shapes
    int64_t weightAt(int64_t i) const { return isPerRow ? i / size : i % size; }
};

// Over the trailing sizes `inner` of `shape`; no rows where they do not fit.
Norm overTrailing(const Shape& shape, const Shape& inner) {
    const auto lead = static_cast<int64_t>(shape.size() - std::min(shape.size(), inner.size()));
    if (inner.empty() || !std::equal(inner.begin(), inner.end(), shape.begin() + lead, shape.end())) {
        return {};
    }
    Shape outer = shape;
    std::fill(outer.begin() + lead, outer.end(), 1);
    return {product(outer), product(inner), false, inner, outer};
}

// Over all but the channels, which become the rows of result 0 and of these operands.
Norm overChannels(Call* call, Positions operands) {
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
diopiError_t normalize(const Call& call, const Norm& norm, double eps, double momentum = 0) {
    const int in = norm.isPerRow ? 5 : 3;
    if (norm.rows == 0 || !call.isOneFloat() || !call.haveShape({in}, call.shape(0)) ||
        !call.haveShape({1, 2}, norm.statistics) || !call.haveShape({in + 1, in + 2}, norm.weight) ||
        (norm.isPerRow && !call.haveShape({3, 4}, norm.statistics))) {
        return leave(call);
    }
    return run(call, [=](const Kernel& k) {
        Values x = load(k, in), mean(static_cast<size_t>(norm.rows)), inverse(mean.size());
        const Values weight = loadOr(k, in + 1, norm.size, 1), bias = loadOr(k, in + 2, norm.size, 0);
        const auto size = static_cast<double>(norm.size);
        for (int64_t row = 0; row < norm.rows; ++row) {
            double* const first = &x[row * norm.size];
            mean[row] = k.buffer(2).isTensor ? std::accumulate(first, first + norm.size, 0.0) / size : 0;
            std::transform(first, first + norm.size, first, [&](double each) { return each - mean[row]; });
            inverse[row] = std::inner_product(first, first + norm.size, first, 0.0) / size;  // the variance, for now
        }
        if (norm.isPerRow) {
            Values runningMean = load(k, in + 3), runningVariance = load(k, in + 4);
            for (size_t row = 0; row < mean.size(); ++row) {
                runningMean[row] += momentum * (mean[row] - runningMean[row]);
                runningVariance[row] += momentum * (inverse[row] * size / (size - 1) - runningVariance[row]);
            }
            store(k, 3, runningMean);
            store(k, 4, runningVariance);
        }
        for (double& each : inverse) {
            each = 1 / std::sqrt(each + eps);
        }
        for (size_t i = 0; i < x.size(); ++i) {
            x[i] = x[i] * inverse[i / norm.size] * weight[norm.weightAt(i)] + bias[norm.weightAt(i)];
        }
        store(k, 0, x);
        store(k, 1, inverse);
        storeIfAny(k, 2, mean);
    });
}

// Results: the gradients of input, weight and bias. Operands: gradient, input, weight, inverse deviation, mean (without
// it nothing is centred), and but for batch norm the bias, which counts for its shape alone.
diopiError_t normalizeBackward(const Call& call, const Norm& norm) {
    if (norm.rows == 0 || !call.isOneFloat() || !call.haveShape({3, 4}, call.shape(0)) ||
        !call.haveShape({1, 2, 5}, norm.weight) || !call.haveShape({6, 7}, norm.statistics) ||
        (!norm.isPerRow && (!call.haveShape({8}, norm.weight) || call.has(2) != call.has(8)))) {
        return leave(call);
    }
    return run(call, [=](const Kernel& k) {
        const Values g = load(k, 3), weight = load(k, 5), inverse = load(k, 6), mean = loadOr(k, 7, norm.rows, 0);
        Values x = load(k, 4), sum(mean.size()), dot(mean.size()), weightGrad(weight.size()), biasGrad(weight.size());
        for (size_t i = 0; i < x.size(); ++i) {
            const size_t row = i / norm.size, at = norm.weightAt(i);
            x[i] = (x[i] - mean[row]) * inverse[row];  // normalised
            weightGrad[at] += g[i] * x[i];
            biasGrad[at] += g[i];
            sum[row] += k.buffer(7).isTensor ? g[i] * weight[at] : 0;
            dot[row] += g[i] * weight[at] * x[i];
        }
        for (size_t i = 0; i < x.size(); ++i) {
            const size_t row = i / norm.size;
            const double shared = (sum[row] + x[i] * dot[row]) / static_cast<double>(norm.size);
            x[i] = inverse[row] * (g[i] * weight[norm.weightAt(i)] - shared);
        }
        store(k, 0, x);
        store(k, 1, weightGrad);
        storeIfAny(k, 2, biasGrad);
    });
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
    return reduce(Call(ctx, "diopiSum", {out}, {input}), shapeOf(dim), 0, std::plus<>());
}
diopiError_t diopiMean(Context ctx, Out out, In input, diopiSize_t dim) {
    return reduce(Call(ctx, "diopiMean", {out}, {input}), shapeOf(dim), 0, std::plus<>(), true);
}
diopiError_t diopiAll(Context ctx, Out out, In input, const int64_t* dim) {
    return reduce(Call(ctx, "diopiAll", {out}, {input}), dim == nullptr ? Shape{} : Shape{*dim}, 1,
                  [](double y, double x) { return x == 0 ? 0 : y; });
}

diopiError_t diopiLayerNorm(Context ctx, Out out, Out save_mean, Out save_invstd, In input, In weight, In bias,
                            diopiSize_t normalized_shape, double eps) {
    const Call call(ctx, "diopiLayerNorm", {out, save_invstd, save_mean}, {input, weight, bias}, {4, 5});
    return normalize(call, overTrailing(call.shape(3), shapeOf(normalized_shape)), eps);
}
diopiError_t diopiLayerNormBackward(Context ctx, Out grad_input, Out grad_weight, Out grad_bias, In grad_output,
                                    In input, In weight, In bias, In mean, In rstd, diopiSize_t normalized_shape) {
    const Call call(ctx, "diopiLayerNormBackward", {grad_input, grad_weight, grad_bias},
                    {grad_output, input, weight, rstd, mean, bias});
    return normalizeBackward(call, overTrailing(call.shape(4), shapeOf(normalized_shape)));
}

diopiError_t diopiRMSNorm(Context ctx, Out out, Out inv_rms, In input, diopiSize_t normalized_shape, In weight, In bias,
                          double eps) {
    const Call call(ctx, "diopiRMSNorm", {out, inv_rms, nullptr}, {input, weight, bias}, {2, 4, 5});
    return normalize(call, overTrailing(call.shape(3), shapeOf(normalized_shape)), eps);
}
diopiError_t diopiRMSNormBackward(Context ctx, Out grad_input, Out grad_weight, Out grad_bias, In grad_output, In input,
                                  In weight, In bias, In inv_rms, diopiSize_t normalized_shape, double /*eps*/) {
    const Call call(ctx, "diopiRMSNormBackward", {grad_input, grad_weight, grad_bias},
                    {grad_output, input, weight, inv_rms, nullptr, bias}, {2, 7, 8});
    return normalizeBackward(call, overTrailing(call.shape(4), shapeOf(normalized_shape)));
}

diopiError_t diopiBatchNorm(Context ctx, Out out, Out save_mean, Out save_invstd, In input, In weight, In bias,
                            Out running_mean, Out running_var, bool training, double momentum, double eps) {
    Call call(ctx, "diopiBatchNorm", {out, save_invstd, save_mean, running_mean, running_var},
              {input, weight, bias, running_mean, running_var});
    const Norm norm = overChannels(&call, {5});
    return training && norm.size > 1 ? normalize(call, norm, eps, momentum) : leave(call);
}
diopiError_t diopiBatchNormBackward(Context ctx, Out grad_input, Out grad_weight, Out grad_bias, In grad_output,
                                    In input, In weight, In /*running_mean*/, In /*running_var*/, In save_mean,
                                    In save_invstd, bool training, double /*eps*/) {
    Call call(ctx, "diopiBatchNormBackward", {grad_input, grad_weight, grad_bias},
              {grad_output, input, weight, save_invstd, save_mean});
    return training ? normalizeBackward(call, overChannels(&call, {3, 4})) : leave(call);
}

}  // namespace droplet
}  // namespace impl
