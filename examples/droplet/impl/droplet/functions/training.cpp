// Operators of droplet for training: reductions, losses, batch norm, gradients of rows, optimizer steps.
#include <algorithm>
#include <cmath>

#include "droplet/kernel.h"

namespace impl {
namespace droplet {

namespace {

// Sums or means over `dims`, all of them where none is named.
diopiError_t reduce(diopiContextHandle_t ctx, const char* name, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                    diopiSize_t dims, bool isMean) {
    Call call(ctx, name);
    call.out(out);
    call.in(input);
    const Shape shape = call.shape(1);
    Shape kept = shape, squeezed;
    std::vector<bool> isGone(shape.size(), dims.len == 0);
    for (int64_t i = 0; i < dims.len; ++i) {
        const int64_t dim = call.dim(1, dims.data[i]);
        if (dim < 0 || isGone[dim]) {
            return kLeave;
        }
        isGone[dim] = true;
    }
    for (size_t d = 0; d < shape.size(); ++d) {
        kept[d] = isGone[d] ? 1 : shape[d];
        if (!isGone[d]) {
            squeezed.push_back(shape[d]);
        }
    }
    if ((call.shape(0) != kept && call.shape(0) != squeezed) || !call.isOneFloat()) {
        return kLeave;
    }
    return call.run([=](const Kernel& kernel) {
        const Values x = load(kernel, 1);
        Values sums(static_cast<size_t>(product(kept)));
        for (int64_t i = 0; i < product(shape); ++i) {
            int64_t place = 0, rest = i, step = 1;
            for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
                place += isGone[d] ? 0 : rest % shape[d] * step;
                step *= kept[d];
            }
            sums[place] += x[i];
        }
        const double share = isMean ? static_cast<double>(product(kept)) / static_cast<double>(product(shape)) : 1;
        std::transform(sums.begin(), sums.end(), sums.begin(), [=](double sum) { return sum * share; });
        store(kernel, 0, sums);
    });
}

struct AdamStep {
    double lr, beta1, beta2, eps, decay;
    int64_t step;
    bool isDecoupled;  // AdamW: the decay does not go through the moments
};
diopiError_t adam(diopiContextHandle_t ctx, const char* name, diopiTensorHandle_t param, diopiConstTensorHandle_t grad,
                  diopiTensorHandle_t average, diopiTensorHandle_t square, const AdamStep& s, bool amsgrad) {
    Call call(ctx, name);
    call.inout(param);
    call.in(grad);
    call.inout(average);
    call.inout(square);
    const bool isSound = s.step >= 1 && s.lr >= 0 && s.eps >= 0 && s.decay >= 0 && s.beta1 >= 0 && s.beta1 < 1 &&
                         s.beta2 >= 0 && s.beta2 < 1;
    if (amsgrad || !isSound || !call.sameShape(0, 1) || !call.sameShape(0, 2) || !call.sameShape(0, 3) ||
        call.dtype(0) != diopi_dtype_float32 || !call.isOneFloat()) {
        return kLeave;
    }
    return call.run([=](const Kernel& kernel) {
        Values w = load(kernel, 0), m = load(kernel, 2), v = load(kernel, 3);
        const Values g = load(kernel, 1);
        const double first = 1 - std::pow(s.beta1, s.step), second = 1 - std::pow(s.beta2, s.step);
        for (size_t i = 0; i < w.size(); ++i) {
            const double slope = g[i] + (s.isDecoupled ? 0 : s.decay * w[i]);
            w[i] -= s.isDecoupled ? s.lr * s.decay * w[i] : 0;
            m[i] = s.beta1 * m[i] + (1 - s.beta1) * slope;
            v[i] = s.beta2 * v[i] + (1 - s.beta2) * slope * slope;
            w[i] -= s.lr / first * m[i] / (std::sqrt(v[i] / second) + s.eps);
        }
        store(kernel, 0, w);
        store(kernel, 2, m);
        store(kernel, 3, v);
    });
}

}  // namespace

diopiError_t diopiSum(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiSize_t dim) {
    return reduce(ctx, "diopiSum", out, input, dim, false);
}
diopiError_t diopiMean(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                       diopiSize_t dim) {
    return reduce(ctx, "diopiMean", out, input, dim, true);
}

diopiError_t diopiBatchNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiTensorHandle_t save_mean,
                            diopiTensorHandle_t save_invstd, diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                            diopiTensorHandle_t running_mean, diopiTensorHandle_t running_var, bool training,
                            double momentum, double eps) {
    Call call(ctx, "diopiBatchNorm");
    for (const diopiTensorHandle_t tensor : {out, save_mean, save_invstd}) {
        call.out(tensor);
    }
    for (const diopiConstTensorHandle_t tensor : {input, weight, bias}) {
        call.in(tensor);
    }
    call.inout(running_mean);
    call.inout(running_var);
    if (!training || call.rank(3) < 2 || !call.sameShape(0, 3) || call.dtype(0) != diopi_dtype_float32 ||
        !call.isOneFloat()) {
        return kLeave;
    }
    const int64_t channels = call.shape(3)[1], plane = product(call.shape(3), 2), count = call.shape(3)[0] * plane;
    bool isPlain = count > 1;
    for (const int k : {1, 2, 4, 5, 6, 7}) {
        isPlain = isPlain && call.shape(k) == Shape{channels};
    }
    return !isPlain ? kLeave : call.run([=](const Kernel& kernel) {
        Values x = load(kernel, 3), mean(static_cast<size_t>(channels)), variance(mean.size());
        const Values w = load(kernel, 4), b = load(kernel, 5);
        Values runningMean = load(kernel, 6), runningVariance = load(kernel, 7);
        const auto channel = [=](size_t i) { return static_cast<int64_t>(i) / plane % channels; };
        const auto n = static_cast<double>(count);
        for (size_t i = 0; i < x.size(); ++i) {
            mean[channel(i)] += x[i] / n;
        }
        for (size_t i = 0; i < x.size(); ++i) {
            variance[channel(i)] += (x[i] - mean[channel(i)]) * (x[i] - mean[channel(i)]) / n;
        }
        for (size_t c = 0; c < mean.size(); ++c) {
            runningMean[c] += momentum * (mean[c] - runningMean[c]);
            runningVariance[c] += momentum * (variance[c] * n / (n - 1) - runningVariance[c]);
            variance[c] = 1 / std::sqrt(variance[c] + eps);  // from here on the inverse deviation
        }
        for (size_t i = 0; i < x.size(); ++i) {
            const int64_t c = channel(i);
            x[i] = (x[i] - mean[c]) * variance[c] * w[c] + b[c];
        }
        store(kernel, 0, x);
        store(kernel, 1, mean);
        store(kernel, 2, variance);
        store(kernel, 6, runningMean);
        store(kernel, 7, runningVariance);
    });
}
diopiError_t diopiBatchNormBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t running_mean,
                                    diopiConstTensorHandle_t running_var, diopiConstTensorHandle_t save_mean,
                                    diopiConstTensorHandle_t save_invstd, bool training, double eps) {
    static_cast<void>(running_mean);
    static_cast<void>(running_var);
    static_cast<void>(eps);  // these three are for evaluation
    Call call(ctx, "diopiBatchNormBackward");
    for (const diopiTensorHandle_t grad : {grad_input, grad_weight, grad_bias}) {
        call.out(grad);
    }
    for (const diopiConstTensorHandle_t tensor : {grad_output, input, weight, save_mean, save_invstd}) {
        call.in(tensor);
    }
    if (!training || call.rank(4) < 2 || !call.sameShape(0, 4) || !call.sameShape(3, 4) ||
        call.dtype(0) != diopi_dtype_float32 || !call.isOneFloat()) {
        return kLeave;
    }
    const int64_t channels = call.shape(4)[1], plane = product(call.shape(4), 2), count = call.shape(4)[0] * plane;
    bool isPlain = true;
    for (const int k : {1, 2, 5, 6, 7}) {
        isPlain = isPlain && call.shape(k) == Shape{channels};
    }
    return !isPlain ? kLeave : call.run([=](const Kernel& kernel) {
        const Values g = load(kernel, 3), w = load(kernel, 5), mean = load(kernel, 6), inverse = load(kernel, 7);
        Values x = load(kernel, 4), gw(w.size()), gb(w.size());
        const auto channel = [=](size_t i) { return static_cast<int64_t>(i) / plane % channels; };
        for (size_t i = 0; i < x.size(); ++i) {
            x[i] = (x[i] - mean[channel(i)]) * inverse[channel(i)];  // normalised
            gw[channel(i)] += g[i] * x[i];
            gb[channel(i)] += g[i];
        }
        for (size_t i = 0; i < x.size(); ++i) {
            const int64_t c = channel(i);
            x[i] = w[c] * inverse[c] * (g[i] - (gb[c] + x[i] * gw[c]) / static_cast<double>(count));
        }
        store(kernel, 0, x);
        store(kernel, 1, gw);
        store(kernel, 2, gb);
    });
}

diopiError_t diopiAdam(diopiContextHandle_t ctx, diopiTensorHandle_t param, diopiConstTensorHandle_t grad,
                       diopiTensorHandle_t exp_avg, diopiTensorHandle_t exp_avg_sq, diopiTensorHandle_t max_exp_avg_sq,
                       float lr, float beta1, float beta2, float eps, float weight_decay, int64_t step, bool amsgrad) {
    static_cast<void>(max_exp_avg_sq);
    const AdamStep s{lr, beta1, beta2, eps, weight_decay, step, false};
    return adam(ctx, "diopiAdam", param, grad, exp_avg, exp_avg_sq, s, amsgrad);
}
diopiError_t diopiAdamW(diopiContextHandle_t ctx, diopiTensorHandle_t param, diopiConstTensorHandle_t grad,
                        diopiTensorHandle_t exp_avg, diopiTensorHandle_t exp_avg_sq, diopiTensorHandle_t max_exp_avg_sq,
                        float lr, float beta1, float beta2, float eps, float weight_decay, int64_t step, bool amsgrad) {
    static_cast<void>(max_exp_avg_sq);
    const AdamStep s{lr, beta1, beta2, eps, weight_decay, step, true};
    return adam(ctx, "diopiAdamW", param, grad, exp_avg, exp_avg_sq, s, amsgrad);
}

}  // namespace droplet
}  // namespace impl
