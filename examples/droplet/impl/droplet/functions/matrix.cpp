// Products of matrices, convolution and pooling of droplet. Images come as NHWC, but are counted as NCHW.
#include <algorithm>
#include <utility>

#include "droplet/kernel.h"

namespace impl {
namespace droplet {

namespace {

// c[m, n] += a[m, k] * b[k, n], with strides of rows and columns for a and b.
struct Matrix {
    const double* data;
    int64_t row;
    int64_t column;
};
void multiply(int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, double* c) {
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t p = 0; p < k; ++p) {
            const double factor = a.data[i * a.row + p * a.column];
            for (int64_t j = 0; j < n; ++j) {
                c[i * n + j] += factor * b.data[p * b.row + j * b.column];
            }
        }
    }
}

// Batches of matrices: out[b, m, n] = a[b, m, k] b[b, k, n].
diopiError_t batched(diopiContextHandle_t ctx, const char* name, diopiTensorHandle_t out, diopiConstTensorHandle_t a,
                     diopiConstTensorHandle_t b, int64_t rank) {
    Call call(ctx, name);
    call.out(out);
    call.in(a);
    call.in(b);
    if (call.rank(0) != rank || call.rank(1) != rank || call.rank(2) != rank || !call.isOneFloat()) {
        return kLeave;
    }
    const int64_t batch = rank == 3 ? call.shape(0)[0] : 1;
    const int64_t m = call.shape(0)[rank - 2], n = call.shape(0)[rank - 1], k = call.shape(1)[rank - 1];
    const bool isBatched = rank == 2 || (call.shape(1)[0] == batch && call.shape(2)[0] == batch);
    if (!isBatched || call.shape(1)[rank - 2] != m || call.shape(2)[rank - 2] != k || call.shape(2)[rank - 1] != n) {
        return kLeave;
    }
    return call.run([=](const Kernel& kernel) {
        const Values x = load(kernel, 1), y = load(kernel, 2);
        Values z(static_cast<size_t>(batch * m * n));
        for (int64_t i = 0; i < batch; ++i) {
            multiply(m, n, k, {&x[i * m * k], k, 1}, {&y[i * k * n], n, 1}, &z[i * m * n]);
        }
        store(kernel, 0, z);
    });
}

// How a window moves over an image, in both directions.
struct Window {
    int64_t size[2], stride[2], padding[2], dilation[2];
    int64_t at(int d, int64_t out, int64_t within) const { return out * stride[d] - padding[d] + within * dilation[d]; }
};
bool isPair(diopiSize_t size) { return size.data != nullptr && size.len == 2; }

}  // namespace

diopiError_t diopiMm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     diopiConstTensorHandle_t mat2) {
    return batched(ctx, "diopiMm", out, input, mat2, 2);
}
diopiError_t diopiBmm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t mat2) {
    return batched(ctx, "diopiBmm", out, input, mat2, 3);
}
diopiError_t diopiLinear(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                         diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias) {
    Call call(ctx, "diopiLinear");
    call.out(out);
    call.in(input);
    call.in(weight);
    call.optional(bias);
    if (call.rank(2) != 2 || call.rank(1) < 1 || !call.isOneFloat()) {
        return kLeave;
    }
    const int64_t n = call.shape(2)[0], k = call.shape(2)[1], m = product(call.shape(0)) / std::max<int64_t>(n, 1);
    Shape shape = call.shape(1);
    shape.back() = n;
    if (call.shape(1).back() != k || call.shape(0) != shape || (call.has(3) && call.shape(3) != Shape{n})) {
        return kLeave;
    }
    return call.run([=, hasBias = call.has(3)](const Kernel& kernel) {
        const Values x = load(kernel, 1), y = load(kernel, 2);
        Values z = hasBias ? load(kernel, 3, shape) : Values(static_cast<size_t>(m * n));
        multiply(m, n, k, {x.data(), k, 1}, {y.data(), 1, k}, z.data());
        store(kernel, 0, z);
    });
}
diopiError_t diopiLinearBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                 diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t weight) {
    Call call(ctx, "diopiLinearBackward");
    for (const diopiTensorHandle_t grad : {grad_input, grad_weight, grad_bias}) {
        call.out(grad, true);
    }
    for (const diopiConstTensorHandle_t tensor : {grad_output, input, weight}) {
        call.in(tensor);
    }
    if (call.rank(5) != 2 || call.rank(4) < 1 || !call.has(0) || !call.has(1) || !call.isOneFloat()) {
        return kLeave;
    }
    const int64_t n = call.shape(5)[0], k = call.shape(5)[1], m = product(call.shape(3)) / std::max<int64_t>(n, 1);
    Shape shape = call.shape(4);
    shape.back() = n;
    if (call.shape(3) != shape || call.shape(4).back() != k || !call.sameShape(0, 4) || !call.sameShape(1, 5) ||
        (call.has(2) && call.shape(2) != Shape{n})) {
        return kLeave;
    }
    return call.run([=, hasBias = call.has(2)](const Kernel& kernel) {
        const Values g = load(kernel, 3), x = load(kernel, 4), w = load(kernel, 5);
        Values gx(static_cast<size_t>(m * k)), gw(static_cast<size_t>(n * k)), gb(static_cast<size_t>(n));
        multiply(m, k, n, {g.data(), n, 1}, {w.data(), k, 1}, gx.data());
        multiply(n, k, m, {g.data(), 1, n}, {x.data(), k, 1}, gw.data());
        store(kernel, 0, gx);
        store(kernel, 1, gw);
        for (int64_t i = 0; i < m * n; ++i) {
            gb[i % n] += g[i];
        }
        if (hasBias) {
            store(kernel, 2, gb);
        }
    });
}

diopiError_t diopiAddmm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t mat1, diopiConstTensorHandle_t mat2, const diopiScalar_t* beta,
                        const diopiScalar_t* alpha) {
    Call call(ctx, "diopiAddmm");
    call.out(out);
    call.in(input);
    call.in(mat1);
    call.in(mat2);
    if (call.rank(0) != 2 || call.rank(2) != 2 || call.rank(3) != 2 || call.rank(1) > 2 || !call.isOneFloat() ||
        beta == nullptr || alpha == nullptr) {
        return kLeave;
    }
    const Shape shape = call.shape(0), bias = call.shape(1);
    const int64_t m = shape[0], n = shape[1], k = call.shape(2)[1];
    bool isPlain = call.shape(2)[0] == m && call.shape(3) == Shape{k, n};
    for (size_t i = 1; i <= bias.size(); ++i) {
        isPlain = isPlain && (bias[bias.size() - i] == 1 || bias[bias.size() - i] == shape[2 - i]);
    }
    return !isPlain ? kLeave : call.run([=, b = number(beta), scale = number(alpha)](const Kernel& kernel) {
        Values x = load(kernel, 2), z(static_cast<size_t>(m * n));
        const Values y = load(kernel, 3), start = load(kernel, 1, shape);
        multiply(m, n, k, {x.data(), k, 1}, {y.data(), n, 1}, z.data());
        for (size_t i = 0; i < z.size(); ++i) {
            z[i] = scale * z[i] + (b == 0 ? 0 : b * start[i]);
        }
        store(kernel, 0, z);
    });
}

namespace {

// A convolution whose operands fit together; x, w and o are the shapes of input, weight and result.
struct Convolution {
    Shape x, w, o;
    Window window{};
    int64_t groups = 1;
    bool isSound = false;

    Convolution(Shape input, Shape weight, Shape out, diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
                int64_t count)
        : x(std::move(input)), w(std::move(weight)), o(std::move(out)), groups(count) {
        if (x.size() != 4 || w.size() != 4 || o.size() != 4 || !isPair(stride) || !isPair(padding) ||
            !isPair(dilation) || groups < 1) {
            return;
        }
        isSound = o[0] == x[0] && o[1] == w[0] && w[0] % groups == 0 && x[1] == w[1] * groups;
        for (int d = 0; d < 2; ++d) {
            window.stride[d] = stride.data[d];
            window.padding[d] = padding.data[d];
            window.dilation[d] = dilation.data[d];
            const int64_t room = x[d + 2] + 2 * window.padding[d] - window.dilation[d] * (w[d + 2] - 1) - 1;
            isSound = isSound && window.stride[d] > 0 && window.padding[d] >= 0 && window.dilation[d] > 0 &&
                      room >= 0 && o[d + 2] == room / window.stride[d] + 1;
        }
    }

    // `visit(out, in, weight)` with the places of all elements that are multiplied.
    template <typename Visit>
    void walk(Visit visit) const {
        const int64_t taps = w[1] * w[2] * w[3];
        for (int64_t i = 0; i < product(o); ++i) {
            const int64_t column = i % o[3], row = i / o[3] % o[2], to = i / (o[3] * o[2]) % o[1];
            const int64_t n = i / (o[3] * o[2] * o[1]), first = to / (w[0] / groups) * w[1];
            for (int64_t j = 0; j < taps; ++j) {
                const int64_t h = window.at(0, row, j / w[3] % w[2]), v = window.at(1, column, j % w[3]);
                if (h >= 0 && h < x[2] && v >= 0 && v < x[3]) {
                    visit(i, ((n * x[1] + first + j / (w[2] * w[3])) * x[2] + h) * x[3] + v, to * taps + j);
                }
            }
        }
    }
};

}  // namespace

diopiError_t diopiConvolution2d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias, diopiSize_t stride,
                                diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    Call call(ctx, "diopiConvolution2d");
    call.out(out);
    call.in(input);
    call.in(weight);
    call.optional(bias);
    const Convolution plan(call.shape(1), call.shape(2), call.shape(0), stride, padding, dilation, groups);
    if (!plan.isSound || !call.isOneFloat() || (call.has(3) && call.shape(3) != Shape{plan.w[0]})) {
        return kLeave;
    }
    return call.run([plan, hasBias = call.has(3)](const Kernel& kernel) {
        const Values image = load(kernel, 1), filter = load(kernel, 2);
        const Values start = hasBias ? load(kernel, 3) : Values(static_cast<size_t>(plan.o[1]));
        Values sums(static_cast<size_t>(product(plan.o)));
        for (size_t i = 0; i < sums.size(); ++i) {
            sums[i] = start[static_cast<int64_t>(i) / (plan.o[2] * plan.o[3]) % plan.o[1]];
        }
        plan.walk([&](int64_t to, int64_t from, int64_t tap) { sums[to] += image[from] * filter[tap]; });
        store(kernel, 0, sums);
    });
}
diopiError_t diopiConvolution2dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                        diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                        diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                        diopiConstTensorHandle_t weight, diopiSize_t* bias_sizes, diopiSize_t stride,
                                        diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    Call call(ctx, "diopiConvolution2dBackward");
    for (const diopiTensorHandle_t grad : {grad_input, grad_weight, grad_bias}) {
        call.out(grad, true);
    }
    for (const diopiConstTensorHandle_t tensor : {grad_output, input, weight}) {
        call.in(tensor);
    }
    const Convolution plan(call.shape(4), call.shape(5), call.shape(3), stride, padding, dilation, groups);
    const bool hasSize =
        bias_sizes == nullptr || (bias_sizes->len == 1 && plan.isSound && bias_sizes->data[0] == plan.w[0]);
    if (!plan.isSound || !hasSize || !call.has(0) || !call.has(1) || !call.sameShape(0, 4) || !call.sameShape(1, 5) ||
        (call.has(2) && call.shape(2) != Shape{plan.w[0]}) || !call.isOneFloat()) {
        return kLeave;
    }
    return call.run([plan, hasBias = call.has(2)](const Kernel& kernel) {
        const Values g = load(kernel, 3), image = load(kernel, 4), filter = load(kernel, 5);
        Values gi(image.size()), gw(filter.size()), gb(static_cast<size_t>(plan.w[0]));
        plan.walk([&](int64_t to, int64_t from, int64_t tap) {
            gi[from] += g[to] * filter[tap];
            gw[tap] += g[to] * image[from];
        });
        for (size_t i = 0; i < g.size(); ++i) {
            gb[static_cast<int64_t>(i) / (plan.o[2] * plan.o[3]) % plan.o[1]] += g[i];
        }
        store(kernel, 0, gi);
        store(kernel, 1, gw);
        if (hasBias) {
            store(kernel, 2, gb);
        }
    });
}

}  // namespace droplet
}  // namespace impl
