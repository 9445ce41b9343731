// Matrices, rows and attention of kestrel.
#include <diopi/functions.h>
#include <diopi/functions_ext.h>
#include <diopigen/elementwise/functions.h>
#include <diopigen_kernels/products.h>
#include <diopigen_kernels/rows.h>

#include <cmath>

#include "kestrel/kernel.h"

namespace impl {
namespace kestrel {

namespace {

diopiError_t multiply(const Call& call, double alpha = 1, double beta = 1) {
    return answer(multiplyTensors(call, false, alpha, beta, launch));
}

}  // namespace

diopiError_t diopiMm(Context ctx, Out out, In input, In mat2) {
    const Call call(ctx, "diopiMm", {out}, {input, mat2, nullptr}, {3});
    return call.haveRank({0}, 2) ? multiply(call) : leave(call);
}

diopiError_t diopiAddmm(Context ctx, Out out, In input, In mat1, In mat2, const diopiScalar_t* beta,
                        const diopiScalar_t* alpha) {
    const Call call(ctx, "diopiAddmm", {out}, {mat1, mat2, input});
    const diopigen::elementwise::Number a(alpha), b(beta);
    return a.isNumber() && b.isNumber() ? multiply(call, a.value(), b.value()) : leave(call, "a factor is no number");
}

diopiError_t diopiLinear(Context ctx, Out out, In input, In weight, In bias) {
    Call call(ctx, "diopiLinear", {out}, {input, weight, bias}, {3});
    const bool fits = call.haveRank({2}, 2) && call.haveShape({3}, {call.shape(2)[0]});
    return fits && call.moveLast({0}, {2}) ? multiply(call) : leave(call);  // the weight is [n, k]
}

diopiError_t diopiSum(Context ctx, Out out, In input, diopiSize_t dim) {
    const Call call(ctx, "diopiSum", {out}, {input});
    return answer(reduceDims(call, shapeOf(dim), [](const auto* x, int64_t size) { return sumOf(x, size); }, launch));
}

diopiError_t diopiSoftmax(Context ctx, Out out, In input, int64_t dim) {
    const Call call(ctx, "diopiSoftmax", {out}, {input, nullptr}, {2});
    const auto row = [](const auto* x, const auto*, auto* to, int64_t size) {
        const auto all = exponentialsOf(x, size);
        std::transform(x, x + size, to, [&](auto each) { return std::exp(each - all.largest) / all.sum; });
    };
    return answer(alongDim(call, dim, row, launch));
}

diopiError_t diopiLogSoftmax(Context ctx, Out out, In input, int64_t dim) {
    const Call call(ctx, "diopiLogSoftmax", {out}, {input, nullptr}, {2});
    const auto row = [](const auto* x, const auto*, auto* to, int64_t size) { logSoftmax(x, to, size); };
    return answer(alongDim(call, dim, row, launch));
}

diopiError_t diopiLogSoftmaxBackward(Context ctx, Out grad_input, In grad_output, In output, int64_t dim) {
    const Call call(ctx, "diopiLogSoftmaxBackward", {grad_input}, {grad_output, output});
    const auto row = [](const auto* g, const auto* y, auto* to, int64_t size) {
        const double sum = sumOf(g, size);
        std::transform(g, g + size, y, to, [&](double each, double log) { return each - std::exp(log) * sum; });
    };
    return answer(alongDim(call, dim, row, launch));
}

diopiError_t diopiFlashAttention(Context ctx, Out attention_out, Out softmax_lse, diopiGeneratorHandle_t gen, In q,
                                 In k, In v, In alibi_slopes, float p_dropout, float softmax_scale, bool is_causal,
                                 int32_t window_size_left, int32_t window_size_right) {
    const Call call(ctx, "diopiFlashAttention", {attention_out, softmax_lse}, {q, k, v});
    if (!call.haveRank({2, 3}, 4) || !call.haveDtype({0, 2, 3, 4}, diopi_dtype_float16) ||
        !call.haveDtype({1}, diopi_dtype_float32)) {
        return leave(call);
    }
    const Shape queries = call.shape(2), keys = call.shape(3);
    const int64_t b = queries[0], sq = queries[1], h = queries[2], d = queries[3], sk = keys[1], hk = keys[2];
    if (gen == nullptr || alibi_slopes != nullptr || p_dropout != 0 || window_size_left >= 0 ||
        window_size_right >= 0) {
        return leave(call, "no generator, or bias, dropout or a window");
    }
    if (hk == 0 || h % hk != 0 || !call.haveShape({0}, queries) || !call.haveShape({3, 4}, {b, sk, hk, d}) ||
        !call.haveShape({1}, {b, h, sq})) {
        return leave(call);
    }
    return run(call, [=](const Kernel& kernel) {
        const Values x = load(kernel, 2), y = load(kernel, 3), z = load(kernel, 4);
        Values result(x.size()), lse(static_cast<size_t>(b * h * sq)), scores(static_cast<size_t>(sk));
        for (int64_t row = 0; row < b * h * sq; ++row) {
            const int64_t n = row / (h * sq), head = row / sq % h, i = row % sq;
            const int64_t seen = is_causal ? std::min(sk, std::max<int64_t>(i + sk - sq + 1, 0)) : sk;
            const double* const query = &x[((n * sq + i) * h + head) * d];
            const auto at = [&](int64_t j) { return ((n * sk + j) * hk + head / (h / hk)) * d; };
            for (int64_t j = 0; j < seen; ++j) {
                scores[j] = softmax_scale * std::inner_product(query, query + d, &y[at(j)], 0.0);
            }
            lse[row] = seen == 0 ? INFINITY : logSumExp(scores.data(), seen);
            for (int64_t j = 0; j < seen; ++j) {
                const double weight = std::exp(scores[j] - lse[row]);
                for (int64_t e = 0; e < d; ++e) {
                    result[((n * sq + i) * h + head) * d + e] += weight * z[at(j) + e];
                }
            }
        }
        store(kernel, 0, result);
        store(kernel, 1, lse);
    });
}

}  // namespace kestrel
}  // namespace impl
