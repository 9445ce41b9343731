#include <diopigen_kernels/operators.h>
#include <diopigen_kernels/rows.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "launched.h"

namespace diopigen::kernels::operators {

// Heads of keys may be fewer than those of queries, which share them in groups.
Status flashAttention(const Launch& launch, Context ctx, Out attention_out, Out softmax_lse,
                      diopiGeneratorHandle_t /*gen*/, In q, In k, In v, In alibi_slopes, float p_dropout,
                      float softmax_scale, bool is_causal, int32_t window_size_left, int32_t window_size_right) {
    const Call call(ctx, "diopiFlashAttention", {attention_out, softmax_lse}, {q, k, v});
    if (!call.haveRank({2, 3}, 4) || !isFloat(call.dtype(2)) || !call.haveDtype({0, 3, 4}, call.dtype(2)) ||
        !call.haveDtype({1}, diopi_dtype_float32)) {
        return call.rejected();
    }
    const Shape queries = call.shape(2), keys = call.shape(3);
    const int64_t b = queries[0], sq = queries[1], h = queries[2], d = queries[3], sk = keys[1], hk = keys[2];
    if (alibi_slopes != nullptr || p_dropout != 0 || window_size_left >= 0 || window_size_right >= 0) {
        return call.rejected("bias, dropout or a window");
    }
    if (hk == 0 || h % hk != 0 || !call.haveShape({0}, queries) || !call.haveShape({3, 4}, {b, sk, hk, d}) ||
        !call.haveShape({1}, {b, h, sq})) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& kernel) {
        const Values x = load(kernel, 2), y = load(kernel, 3), z = load(kernel, 4);
        Values result(x.size()), lse(static_cast<std::size_t>(b * h * sq)), scores(static_cast<std::size_t>(sk));
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

}  // namespace diopigen::kernels::operators
