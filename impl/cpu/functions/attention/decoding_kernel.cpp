#include <cmath>

#include "attention/attention_kernels.h"
#include "attention/decoding.h"
#include "diopi_core/dense.h"
#include "diopi_core/raw_elements.h"
#include "diopi_core/reduction.h"
#include "tiles.h"

namespace diopigen::core::attention {

namespace {

struct Ignore {
    template <typename T>
    void operator()(const QueryIndex& /*query_index*/, T /*maximum*/, T /*sum*/) const {}
};

}  // namespace

void copy_to_slots(const Tensor& cache, const Tensor& tokens, const std::vector<int64_t>& slots) {
    for (int64_t i = 0; i < tokens.shape[0]; ++i) {
        const View to = selected(cache, 0, slots[static_cast<size_t>(i)]);
        const View from = selected(tokens, 0, i);
        copy_elements(to.tensor(), from.tensor());
    }
}

void score_tokens(const Tensor& out, const Tensor& q, const Tensor& k, const Cached& cached) {
    const int64_t batch = q.shape[0];
    const int64_t heads = q.shape[1];
    const int64_t size = q.shape[2];
    dispatch_compute<kFloating>(q.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> queries(q);
        const std::vector<T> keys = gather_rows<T>(k, cached.slots, heads * size);
        const Changed scores(out, dtype_of<T>);
        const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(size)));
        const auto work = static_cast<int64_t>(cached.slots.size()) * size;
        parallel_for(heads, row_grain(work), [&](int64_t begin, int64_t end) {
            for (int64_t head = begin; head < end; ++head) {
                for (int64_t b = 0; b < batch; ++b) {
                    const auto at = static_cast<size_t>(b);
                    const T* query = queries.data() + (b * heads + head) * size;
                    const T* key = keys.data() + (cached.first[at] * heads + head) * size;
                    T* row = scores.as<T>() + head * out.shape[1] + cached.starts[at];
                    for (int64_t j = 0; j < cached.lengths[at]; ++j) {
                        row[j] = scale * dot(query, key + j * heads * size, size);
                    }
                }
            }
        });
        scores.store();
    });
}

void sum_tokens(const Tensor& out, const Tensor& scores_tensor, const Tensor& v, const Cached& cached) {
    const int64_t batch = out.shape[0];
    const int64_t heads = out.shape[1];
    const int64_t size = out.shape[2];
    const auto most = static_cast<int64_t>(cached.slots.size());
    dispatch_compute<kFloating>(scores_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> logits(scores_tensor);
        const std::vector<T> values = gather_rows<T>(v, cached.slots, heads * size);
        const Output<T> sums(out);
        parallel_for(batch * heads, row_grain(most * size), [&](int64_t begin, int64_t end) {
            std::vector<T> row;
            for (int64_t i = begin; i < end; ++i) {
                const auto b = static_cast<size_t>(i / heads);
                const int64_t head = i % heads;
                const T* first = logits.data() + head * scores_tensor.shape[1] + cached.starts[b];
                row.assign(first, first + cached.lengths[b]);
                const T total = exponentials({0, cached.lengths[b]}, row.data()).sum;
                const T* value = values.data() + (cached.first[b] * heads + head) * size;
                T* result = sums.data() + i * size;
                std::fill(result, result + size, T(0));
                for (int64_t j = 0; j < cached.lengths[b]; ++j) {
                    add_multiple(result, row[static_cast<size_t>(j)] / total, value + j * heads * size, size);
                }
            }
        });
        sums.store();
    });
}

void attend(const Problem& problem, const Scoring& scoring, const Tensor& out, const Operands& operands, Rest rest) {
    dispatch_compute<kFloating>(operands.q.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> queries(operands.q);
        const Input<T> keys(operands.k);
        const Input<T> values(operands.v);
        if (rest == Rest::kUnchanged) {
            const Changed sums(out, dtype_of<T>);
            forward(problem, scoring, queries.data(), keys.data(), values.data(), sums.as<T>(), Ignore());
            sums.store();
            return;
        }
        const Output<T> sums(out);
        std::fill_n(sums.data(), out.numel, T(0));
        forward(problem, scoring, queries.data(), keys.data(), values.data(), sums.data(), Ignore());
        sums.store();
    });
}

void attend_to_rows(const Problem& problem, const Scoring& scoring, const Tensor& out, const Operands& operands,
                    const std::vector<int64_t>& rows) {
    const Input<float> queries(operands.q);
    const std::vector<float> keys = gather_rows<float>(operands.k, rows, problem.key_rows.row);
    const std::vector<float> values = gather_rows<float>(operands.v, rows, problem.key_rows.row);
    const Output<float> sums(out);
    forward(problem, scoring, queries.data(), keys.data(), values.data(), sums.data(), Ignore());
    sums.store();
}

}  // namespace diopigen::core::attention
