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
    if (amsgrad || s.step < 1 || !call.sameShape(0, 1) || !call.sameShape(0, 2) || !call.sameShape(0, 3) ||
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
