// Attention of tensors of any dtype. Rows of halves are widened one head at a time: they stay in the cache, and a call
// needs no copies of whole operands in float.
#ifndef DIOPI_CPU_FUNCTIONS_ATTENTION_BY_HEADS_H_
#define DIOPI_CPU_FUNCTIONS_ATTENTION_BY_HEADS_H_

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "attention/flash_attention.h"
#include "diopi_core/strided.h"
#include "tiles.h"

namespace diopigen::core::attention {

// A view of a problem whose operands are the rows of one head each, one behind another.
class ByHeads {
  public:
    explicit ByHeads(const Problem& problem) : problem_(problem), own_(problem) {
        own_.key_rows = own_.query_rows = {problem.size, 0};
        for (Sequence& sequence : own_.sequences) {
            sequence.query_start = sequence.key_start = 0;
            longest_queries_ = std::max(longest_queries_, sequence.queries);
            longest_keys_ = std::max(longest_keys_, sequence.keys);
        }
    }

    // It follows from the operands alone, as results must.
    static bool serves(std::initializer_list<const Tensor*> tensors) {
        return std::all_of(tensors.begin(), tensors.end(), [](const Tensor* tensor) {
            return !tensor->is_null() && is_half(tensor->dtype) && is_contiguous(*tensor);
        });
    }

    const Problem& problem() const { return own_; }
    int64_t elements_of_queries() const { return longest_queries_ * own_.size; }
    int64_t elements_of_keys() const { return longest_keys_ * own_.size; }

    // Calls `body(s, kv_head, rows)` for the key heads of all sequences, with room for `count` elements.
    template <typename Body>
    void for_each(int64_t count, const Body& body) const {
        const int64_t tasks = static_cast<int64_t>(own_.sequences.size()) * own_.kv_heads;
        parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
            constexpr int64_t kRetained = 1 << 22;
            thread_local std::vector<float> retained;
            Buffer own;
            if (count > kRetained) {
                own.allocate(count * static_cast<int64_t>(sizeof(float)));
            } else if (static_cast<int64_t>(retained.size()) < count) {
                retained.resize(static_cast<size_t>(count));
            }
            float* const rows = count > kRetained ? static_cast<float*>(own.data()) : retained.data();
            for (int64_t task = begin; task < end; ++task) {
                body(task / own_.kv_heads, task % own_.kv_heads, rows);
            }
        });
    }

    // The rows of one head in a tensor of halves, from an element on.
    struct Rows {
        int64_t start;
        int64_t stride;
        int64_t count;
    };
    Rows queries(int64_t s, int64_t head) const {
        return {problem_.query_head(sequence(s), head), problem_.query_rows.row, sequence(s).queries};
    }
    Rows keys(int64_t s, int64_t kv_head) const {
        return {problem_.key_head(sequence(s), kv_head), problem_.key_rows.row, sequence(s).keys};
    }
    void widen(const Tensor& tensor, const Rows& rows, float* to) const {
        for (int64_t i = 0; i < rows.count; ++i) {
            convert(tensor.dtype, row(tensor, rows, i), Dtype::kFloat32, to + i * own_.size, own_.size);
        }
    }
    void narrow(const float* from, const Tensor& tensor, const Rows& rows) const {
        for (int64_t i = 0; i < rows.count; ++i) {
            convert(Dtype::kFloat32, from + i * own_.size, tensor.dtype, row(tensor, rows, i), own_.size);
        }
    }

  private:
    const Sequence& sequence(int64_t s) const { return problem_.sequences[static_cast<size_t>(s)]; }

    static char* row(const Tensor& tensor, const Rows& rows, int64_t i) {
        return static_cast<char*>(tensor.data) + (rows.start + i * rows.stride) * size_of(tensor.dtype);
    }

    const Problem& problem_;
    Problem own_;
    int64_t longest_queries_ = 0;
    int64_t longest_keys_ = 0;
};

// `forward` of tensors; see there.
template <typename Record>
void forward_of(const Problem& problem, const Scoring& scoring, const Operands& operands, const Tensor& out_tensor,
                const Record& record) {
    // Threads split heads, where `forward` splits queries too.
    constexpr int64_t kLeastHeads = 8;
    if (static_cast<int64_t>(problem.sequences.size()) * problem.kv_heads < kLeastHeads ||
        !ByHeads::serves({&operands.q, &operands.k, &operands.v, &out_tensor})) {
        const Input<float> q(operands.q);
        const Input<float> k(operands.k);
        const Input<float> v(operands.v);
        const Output<float> out(out_tensor);
        forward(problem, scoring, q.data(), k.data(), v.data(), out.data(), record);
        out.store();
        return;
    }
    const ByHeads by_heads(problem);
    const Problem& own = by_heads.problem();
    const int64_t of_queries = by_heads.elements_of_queries();
    const int64_t of_keys = by_heads.elements_of_keys();
    by_heads.for_each(2 * of_queries + 2 * of_keys, [&](int64_t s, int64_t kv_head, float* rows) {
        float* const q = rows;
        float* const out = q + of_queries;
        float* const k = out + of_queries;
        float* const v = k + of_keys;
        const ByHeads::Rows keys = by_heads.keys(s, kv_head);
        by_heads.widen(operands.k, keys, k);
        by_heads.widen(operands.v, keys, v);
        for (int64_t head = kv_head * own.group(); head < (kv_head + 1) * own.group(); ++head) {
            const ByHeads::Rows queries = by_heads.queries(s, head);
            by_heads.widen(operands.q, queries, q);
            for (int64_t first = 0; first < queries.count; first += kTileQueries) {
                const int64_t count = std::min(kTileQueries, queries.count - first);
                forward_block(QueryBlock(own, scoring, {s, head, first}, count), q, k, v, out, record);
            }
            by_heads.narrow(out, out_tensor, queries);
        }
    });
}

// The gradients; `normal(index)` tells how the probabilities of a query are found again.
template <typename GetNormal>
void backward_of(const Problem& problem, const Scoring& scoring, const Operands& operands,
                 const GradientTensors& tensors, const GetNormal& normal) {
    if (!ByHeads::serves({&operands.q, &operands.k, &operands.v, &tensors.out, &tensors.grad_out, &tensors.q,
                          &tensors.k, &tensors.v})) {
        const Input<float> q(operands.q);
        const Input<float> k(operands.k);
        const Input<float> v(operands.v);
        const Input<float> out(tensors.out);
        const Input<float> grad_out(tensors.grad_out);
        const Output<float> grad_q(tensors.q);
        const Output<float> grad_k(tensors.k);
        const Output<float> grad_v(tensors.v);
        std::fill_n(grad_q.data(), tensors.q.numel, 0.0f);
        std::fill_n(grad_k.data(), tensors.k.numel, 0.0f);
        std::fill_n(grad_v.data(), tensors.v.numel, 0.0f);
        backward(problem, scoring, q.data(), k.data(), v.data(), out.data(), grad_out.data(), normal,
                 Gradients<float>{grad_q.data(), grad_k.data(), grad_v.data()});
        grad_q.store();
        grad_k.store();
        grad_v.store();
        return;
    }
    const ByHeads by_heads(problem);
    const Problem& own = by_heads.problem();
    const int64_t of_queries = by_heads.elements_of_queries();
    const int64_t of_keys = by_heads.elements_of_keys();
    by_heads.for_each(4 * of_queries + 4 * of_keys, [&](int64_t s, int64_t kv_head, float* rows) {
        float* const q = rows;
        float* const out = q + of_queries;
        float* const grad_out = out + of_queries;
        float* const grad_q = grad_out + of_queries;
        float* const k = grad_q + of_queries;
        float* const v = k + of_keys;
        float* const grad_k = v + of_keys;
        float* const grad_v = grad_k + of_keys;
        const ByHeads::Rows keys = by_heads.keys(s, kv_head);
        by_heads.widen(operands.k, keys, k);
        by_heads.widen(operands.v, keys, v);
        std::fill_n(grad_k, 2 * of_keys, 0.0f);
        for (int64_t head = kv_head * own.group(); head < (kv_head + 1) * own.group(); ++head) {
            const ByHeads::Rows queries = by_heads.queries(s, head);
            by_heads.widen(operands.q, queries, q);
            by_heads.widen(tensors.out, queries, out);
            by_heads.widen(tensors.grad_out, queries, grad_out);
            std::fill_n(grad_q, of_queries, 0.0f);
            backward_head(own, scoring, s, head, q, k, v, out, grad_out, normal,
                          Gradients<float>{grad_q, grad_k, grad_v});
            by_heads.narrow(grad_q, tensors.q, queries);
        }
        by_heads.narrow(grad_k, tensors.k, keys);
        by_heads.narrow(grad_v, tensors.v, keys);
    });
}

}  // namespace diopigen::core::attention

#endif  // DIOPI_CPU_FUNCTIONS_ATTENTION_BY_HEADS_H_
