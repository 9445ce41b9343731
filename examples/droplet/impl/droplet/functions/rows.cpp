// Operators of droplet over one dimension or over rows: softmax, layer norm, embedding.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "droplet/kernel.h"

namespace impl {
namespace droplet {

namespace {

// `row(values, first, step, size)` for every line of elements along `dim`.
template <typename Row>
void lines(const Shape& shape, int64_t dim, Row row) {
    const int64_t size = shape[dim], step = product(shape, static_cast<size_t>(dim) + 1);
    for (int64_t i = 0; i < product(shape); ++i) {
        if (i / step % size == 0) {
            row(i, step, size);
        }
    }
}

diopiError_t softmax(diopiContextHandle_t ctx, const char* name, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input, int64_t dim, bool isLog) {
    Call call(ctx, name);
    call.out(out);
    call.in(input);
    const int64_t along = call.dim(0, dim);
    if (along < 0 || !call.sameShape(0, 1) || !call.isOneFloat()) {
        return kLeave;
    }
    return call.run([=, shape = call.shape(0)](const Kernel& kernel) {
        Values x = load(kernel, 1);
        lines(shape, along, [&](int64_t first, int64_t step, int64_t size) {
            double largest = -INFINITY, sum = 0;
            for (int64_t i = 0; i < size; ++i) {
                const double value = x[first + i * step];
                largest = value > largest || std::isnan(value) ? value : largest;
            }
            for (int64_t i = 0; i < size; ++i) {
                sum += std::exp(x[first + i * step] - largest);
            }
            for (int64_t i = 0; i < size; ++i) {
                double& value = x[first + i * step];
                value = isLog ? value - largest - std::log(sum) : std::exp(value - largest) / sum;
            }
        });
        store(kernel, 0, x);
    });
}

diopiError_t softmaxBackward(diopiContextHandle_t ctx, const char* name, diopiTensorHandle_t grad_input,
                             diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output, int64_t dim,
                             bool isLog) {
    Call call(ctx, name);
    call.out(grad_input);
    call.in(grad_output);
    call.in(output);
    const int64_t along = call.dim(0, dim);
    if (along < 0 || !call.sameShape(0, 1) || !call.sameShape(0, 2) || !call.isOneFloat()) {
        return kLeave;
    }
    return call.run([=, shape = call.shape(0)](const Kernel& kernel) {
        Values g = load(kernel, 1);
        const Values y = load(kernel, 2);
        lines(shape, along, [&](int64_t first, int64_t step, int64_t size) {
            double sum = 0;
            for (int64_t i = 0; i < size; ++i) {
                sum += g[first + i * step] * (isLog ? 1 : y[first + i * step]);
            }
            for (int64_t i = 0; i < size; ++i) {
                const int64_t at = first + i * step;
                g[at] = isLog ? g[at] - std::exp(y[at]) * sum : (g[at] - sum) * y[at];
            }
        });
        store(kernel, 0, g);
    });
}

}  // namespace

diopiError_t diopiSoftmax(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          int64_t dim) {
    return softmax(ctx, "diopiSoftmax", out, input, dim, false);
}
diopiError_t diopiLogSoftmax(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                             int64_t dim) {
    return softmax(ctx, "diopiLogSoftmax", out, input, dim, true);
}
diopiError_t diopiSoftmaxBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                  diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output, int64_t dim) {
    return softmaxBackward(ctx, "diopiSoftmaxBackward", grad_input, grad_output, output, dim, false);
}
diopiError_t diopiLogSoftmaxBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                     diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output,
                                     int64_t dim) {
    return softmaxBackward(ctx, "diopiLogSoftmaxBackward", grad_input, grad_output, output, dim, true);
}

diopiError_t diopiLayerNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiTensorHandle_t save_mean,
                            diopiTensorHandle_t save_invstd, diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                            diopiSize_t normalized_shape, double eps) {
    Call call(ctx, "diopiLayerNorm");
    call.out(out);
    call.out(save_mean);
    call.out(save_invstd);
    call.in(input);
    call.optional(weight);
    call.optional(bias);
    const Shape& shape = call.shape(3);
    const int64_t lead = call.rank(3) - normalized_shape.len;
    if (lead < 0 || normalized_shape.len < 1 || call.dtype(0) != diopi_dtype_float32 || !call.isOneFloat()) {
        return kLeave;
    }
    const Shape inner(normalized_shape.data, normalized_shape.data + normalized_shape.len);
    Shape outer(shape.begin(), shape.begin() + lead);
    outer.resize(shape.size(), 1);
    if (!std::equal(inner.begin(), inner.end(), shape.begin() + lead) || !call.sameShape(0, 3) ||
        call.shape(1) != outer || call.shape(2) != outer || (call.has(4) && call.shape(4) != inner) ||
        (call.has(5) && call.shape(5) != inner)) {
        return kLeave;
    }
    const int64_t size = product(inner), rows = product(outer);
    return call.run([=, hasWeight = call.has(4), hasBias = call.has(5)](const Kernel& kernel) {
        Values x = load(kernel, 3);
        const Values scale = hasWeight ? load(kernel, 4) : Values(static_cast<size_t>(size), 1);
        const Values shift = hasBias ? load(kernel, 5) : Values(static_cast<size_t>(size), 0);
        Values mean(static_cast<size_t>(rows)), inverse(static_cast<size_t>(rows));
        for (int64_t i = 0; i < rows * size; ++i) {
            mean[i / size] += x[i] / static_cast<double>(size);
        }
        for (int64_t i = 0; i < rows * size; ++i) {
            inverse[i / size] += (x[i] - mean[i / size]) * (x[i] - mean[i / size]) / static_cast<double>(size);
        }
        std::transform(inverse.begin(), inverse.end(), inverse.begin(),
                       [=](double v) { return 1 / std::sqrt(v + eps); });
        for (int64_t i = 0; i < rows * size; ++i) {
            x[i] = (x[i] - mean[i / size]) * inverse[i / size] * scale[i % size] + shift[i % size];
        }
        store(kernel, 0, x);
        store(kernel, 1, mean);
        store(kernel, 2, inverse);
    });
}

diopiError_t diopiLayerNormBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                                    diopiConstTensorHandle_t mean, diopiConstTensorHandle_t rstd,
                                    diopiSize_t normalized_shape) {
    Call call(ctx, "diopiLayerNormBackward");
    for (const diopiTensorHandle_t grad : {grad_input, grad_weight, grad_bias}) {
        call.out(grad);
    }
    for (const diopiConstTensorHandle_t tensor : {grad_output, input, weight, bias, mean, rstd}) {
        call.in(tensor);
    }
    const int64_t lead = call.rank(4) - normalized_shape.len;
    if (lead < 0 || normalized_shape.len < 1 || call.dtype(0) != diopi_dtype_float32 || !call.isOneFloat()) {
        return kLeave;
    }
    const Shape shape = call.shape(4), inner(normalized_shape.data, normalized_shape.data + normalized_shape.len);
    Shape outer(shape.begin(), shape.begin() + lead);
    outer.resize(shape.size(), 1);
    bool isPlain = std::equal(inner.begin(), inner.end(), shape.begin() + lead) && call.shape(7) == outer &&
                   call.shape(8) == outer && call.sameShape(0, 4) && call.sameShape(3, 4);
    for (const int k : {1, 2, 5, 6}) {
        isPlain = isPlain && call.shape(k) == inner;
    }
    const int64_t size = product(inner), rows = product(outer);
    return !isPlain ? kLeave : call.run([=](const Kernel& kernel) {
        const Values g = load(kernel, 3), w = load(kernel, 5), m = load(kernel, 7), r = load(kernel, 8);
        Values x = load(kernel, 4), gw(w.size()), gb(w.size());
        for (int64_t row = 0; row < rows; ++row) {
            double sum = 0, product = 0;
            for (int64_t i = 0, at = row * size; i < size; ++i, ++at) {
                x[at] = (x[at] - m[row]) * r[row];  // normalised
                gw[i] += g[at] * x[at];
                gb[i] += g[at];
                sum += g[at] * w[i];
                product += g[at] * w[i] * x[at];
            }
            for (int64_t i = 0, at = row * size; i < size; ++i, ++at) {
                x[at] = r[row] * (g[at] * w[i] - (sum + x[at] * product) / static_cast<double>(size));
            }
        }
        store(kernel, 0, x);
        store(kernel, 1, gw);
        store(kernel, 2, gb);
    });
}

diopiError_t diopiEmbedding(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t weight,
                            diopiConstTensorHandle_t indices, int64_t padding_idx, bool scale_grad_byfreq,
                            bool sparse) {
    static_cast<void>(padding_idx);  // these three are about gradients
    static_cast<void>(scale_grad_byfreq);
    static_cast<void>(sparse);
    Call call(ctx, "diopiEmbedding");
    call.out(out);
    call.in(weight);
    call.in(indices);
    Shape shape = call.shape(2);
    shape.push_back(call.rank(1) == 2 ? call.shape(1)[1] : 0);
    if (call.rank(1) != 2 || call.shape(0) != shape || call.dtype(0) != call.dtype(1) || !isFloat(call.dtype(0)) ||
        call.dtype(2) != diopi_dtype_int32) {
        return kLeave;
    }
    return call.run([=, rows = call.shape(1)[0]](const Kernel& kernel) {
        const Values table = load(kernel, 1), places = load(kernel, 2);
        const auto width = static_cast<int64_t>(shape.back());
        Values result(static_cast<size_t>(product(shape)));
        for (size_t i = 0; i < places.size(); ++i) {
            const auto row = static_cast<int64_t>(places[i]);
            if (row < 0 || row >= rows) {
                throw std::out_of_range("an index of diopiEmbedding is outside the table");
            }
            std::copy_n(&table[row * width], width, &result[static_cast<int64_t>(i) * width]);
        }
        store(kernel, 0, result);
    });
}

}  // namespace droplet
}  // namespace impl
