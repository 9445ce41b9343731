// Sums of products: matrices and convolution.
#include <diopigen/elementwise/functions.h>

#include "droplet/kernel.h"

namespace impl {
namespace droplet {

namespace {

// Result 0 [..., m, n] is alpha * operand 1 [..., m, k] * operand 2 [k, n] + beta * operand 3. With `isBatched` the
// first dimension counts matrices, of operand 2 as well.
diopiError_t multiply(const Call& call, bool isBatched, double alpha = 1, double beta = 1) {
    if (call.rank(0) < 1 || call.rank(1) != call.rank(0) || !call.isOneFloat()) {
        return kLeave;
    }
    const Shape shape = call.shape(0);
    const int64_t batch = isBatched ? shape[0] : 1, n = shape.back(), k = call.shape(1).back();
    const int64_t rows = product(shape) / std::max<int64_t>(n, 1), m = rows / std::max<int64_t>(batch, 1);
    Shape left = shape, joined = shape;
    left.back() = k;
    if (!call.haveShape({1}, left) || !call.haveShape({2}, isBatched ? Shape{batch, k, n} : Shape{k, n}) ||
        !broadcast(&joined, call.shape(3)) || joined != shape) {
        return kLeave;
    }
    return run(call, [=](const Kernel& kernel) {
        const Values x = load(kernel, 1), y = load(kernel, 2);
        Values z(static_cast<size_t>(rows * n));
        for (int64_t row = 0; row < rows; ++row) {
            const double* matrix = &y[row / m * k * n];
            for (int64_t i = 0; i < k; ++i) {
                for (int64_t column = 0; column < n; ++column) {
                    z[row * n + column] += x[row * k + i] * matrix[i * n + column];
                }
            }
        }
        const Values start = kernel.buffer(3).isTensor ? load(kernel, 3, shape) : Values(z.size());
        for (size_t i = 0; i < z.size(); ++i) {
            z[i] = alpha * z[i] + (beta == 0 ? 0 : beta * start[i]);
        }
        store(kernel, 0, z);
    });
}

// Images lie in memory as NHWC, which the shims see to; shapes are counted as NCHW.
struct Convolution {
    Shape x, w, o;  // the shapes of input, weight and result
    Shape stride, padding, dilation;
    int64_t groups;

    bool isSound() const {
        bool fits = x.size() == 4 && w.size() == 4 && o.size() == 4 && stride.size() == 2 && padding.size() == 2 &&
                    dilation.size() == 2 && groups > 0;
        fits = fits && o[0] == x[0] && o[1] == w[0] && w[0] % groups == 0 && x[1] == w[1] * groups;
        for (int d = 0; fits && d < 2; ++d) {
            const int64_t room = x[d + 2] + 2 * padding[d] - dilation[d] * (w[d + 2] - 1) - 1;
            fits = stride[d] > 0 && padding[d] >= 0 && dilation[d] > 0 && room >= 0 && o[d + 2] == room / stride[d] + 1;
        }
        return fits;
    }

    // `visit(out, in, weight)` with the places of all elements that are multiplied.
    template <typename Visit>
    void walk(Visit visit) const {
        const int64_t taps = w[1] * w[2] * w[3];
        for (int64_t i = 0; i < product(o); ++i) {
            const int64_t column = i % o[3], row = i / o[3] % o[2], to = i / (o[3] * o[2]) % o[1];
            const int64_t n = i / (o[3] * o[2] * o[1]), first = to / (w[0] / groups) * w[1];
            for (int64_t j = 0; j < taps; ++j) {
                const int64_t h = row * stride[0] - padding[0] + j / w[3] % w[2] * dilation[0];
                const int64_t v = column * stride[1] - padding[1] + j % w[3] * dilation[1];
                if (h >= 0 && h < x[2] && v >= 0 && v < x[3]) {
                    visit(i, ((n * x[1] + first + j / (w[2] * w[3])) * x[2] + h) * x[3] + v, to * taps + j);
                }
            }
        }
    }
    int64_t channelOf(size_t out) const { return static_cast<int64_t>(out) / (o[2] * o[3]) % o[1]; }
};

}  // namespace

diopiError_t diopiMm(Context ctx, Out out, In input, In mat2) {
    const Call call(ctx, "diopiMm", {out}, {input, mat2, nullptr}, {3});
    return call.rank(0) == 2 ? multiply(call, false) : kLeave;
}
diopiError_t diopiBmm(Context ctx, Out out, In input, In mat2) {
    const Call call(ctx, "diopiBmm", {out}, {input, mat2, nullptr}, {3});
    return call.rank(0) == 3 ? multiply(call, true) : kLeave;
}
diopiError_t diopiAddmm(Context ctx, Out out, In input, In mat1, In mat2, const diopiScalar_t* beta,
                        const diopiScalar_t* alpha) {
    const Call call(ctx, "diopiAddmm", {out}, {mat1, mat2, input});
    const diopigen::elementwise::Number a(alpha), b(beta);
    return call.rank(0) == 2 && a.isNumber() && b.isNumber() ? multiply(call, false, a.value(), b.value()) : kLeave;
}
diopiError_t diopiLinear(Context ctx, Out out, In input, In weight, In bias) {
    Call call(ctx, "diopiLinear", {out}, {input, weight, bias}, {3});
    // The weight is [n, k], and seen as its transpose.
    const bool isPlain = call.rank(2) == 2 && call.haveShape({3}, {call.shape(2)[0]}) && call.moveLast({0}, {2});
    return isPlain ? multiply(call, false) : kLeave;
}

diopiError_t diopiConvolution2d(Context ctx, Out out, In input, In weight, In bias, diopiSize_t stride,
                                diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    const Call call(ctx, "diopiConvolution2d", {out}, {input, weight, bias}, {3});
    const Convolution plan{call.shape(1),    call.shape(2),     call.shape(0), shapeOf(stride),
                           shapeOf(padding), shapeOf(dilation), groups};
    if (!plan.isSound() || !call.isOneFloat() || !call.haveShape({3}, {plan.w[0]})) {
        return kLeave;
    }
    return run(call, [plan](const Kernel& k) {
        const Values image = load(k, 1), filter = load(k, 2), bias = loadOr(k, 3, plan.w[0], 0);
        Values sums(static_cast<size_t>(product(plan.o)));
        for (size_t i = 0; i < sums.size(); ++i) {
            sums[i] = bias[plan.channelOf(i)];
        }
        plan.walk([&](int64_t to, int64_t from, int64_t tap) { sums[to] += image[from] * filter[tap]; });
        store(k, 0, sums);
    });
}
diopiError_t diopiConvolution2dBackward(Context ctx, Out grad_input, Out grad_weight, Out grad_bias, In grad_output,
                                        In input, In weight, diopiSize_t* bias_sizes, diopiSize_t stride,
                                        diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    const Call call(ctx, "diopiConvolution2dBackward", {grad_input, grad_weight, grad_bias},
                    {grad_output, input, weight}, {2});
    const Convolution plan{call.shape(4),    call.shape(5),     call.shape(3), shapeOf(stride),
                           shapeOf(padding), shapeOf(dilation), groups};
    if (!plan.isSound() || !call.isOneFloat() || !call.haveShape({0}, plan.x) || !call.haveShape({1}, plan.w) ||
        !call.haveShape({2}, {plan.w[0]}) || (bias_sizes != nullptr && shapeOf(*bias_sizes) != Shape{plan.w[0]})) {
        return kLeave;
    }
    return run(call, [plan](const Kernel& k) {
        const Values g = load(k, 3), image = load(k, 4), filter = load(k, 5);
        Values imageGrad(image.size()), filterGrad(filter.size()), biasGrad(static_cast<size_t>(plan.w[0]));
        plan.walk([&](int64_t to, int64_t from, int64_t tap) {
            imageGrad[from] += g[to] * filter[tap];
            filterGrad[tap] += g[to] * image[from];
        });
        for (size_t i = 0; i < g.size(); ++i) {
            biasGrad[plan.channelOf(i)] += g[i];
        }
        store(k, 0, imageGrad);
        store(k, 1, filterGrad);
        storeIfAny(k, 2, biasGrad);
    });
}

}  // namespace droplet
}  // namespace impl
