// Attention of tensors of any dtype. Rows of halves are widened one head at a time where heads are enough for all
// threads: they stay in the cache, and a call needs no copies of whole operands in float.
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
            queries_ = std::max(queries_, sequence.queries);
            keys_ = std::max(keys_, sequence.keys);
        }
    }

    // It follows from the operands alone, as results must.
    static bool serves(const Problem& problem, std::initializer_list<const Tensor*> tensors) {
        constexpr int64_t kLeastHeads = 8;
        return static_cast<int64_t>(problem.sequences.size()) * problem.kv_heads >= kLeastHeads &&
               std::all_of(tensors.begin(), tensors.end(), [](const Tensor* tensor) {
                   return !tensor->is_null() && is_half(tensor->dtype) && is_contiguous(*tensor);
               });
    }

    const Problem& problem() const { return own_; }
    int64_t elements_of_queries() const { return queries_ * own_.size; }
    int64_t elements_of_keys() const { return keys_ * own_.size; }

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

    void widen_queries(const Tensor& tensor, int64_t s, int64_t head, float* rows) const {
        visit(tensor, problem_.query_head(sequence(s), head), problem_.query_rows.row, sequence(s).queries,
              [&](char* half, int64_t at) { convert(tensor.dtype, half, Dtype::kFloat32, rows + at, own_.size); });
    }
    void widen_keys(const Tensor& tensor, int64_t s, int64_t kv_head, float* rows) const {
        visit(tensor, problem_.key_head(sequence(s), kv_head), problem_.key_rows.row, sequence(s).keys,
              [&](char* half, int64_t at) { convert(tensor.dtype, half, Dtype::kFloat32, rows + at, own_.size); });
    }
    void narrow_queries(const float* rows, const Tensor& tensor, int64_t s, int64_t head) const {
        visit(tensor, problem_.query_head(sequence(s), head), problem_.query_rows.row, sequence(s).queries,
              [&](char* half, int64_t at) { convert(Dtype::kFloat32, rows + at, tensor.dtype, half, own_.size); });
    }
    void narrow_keys(const float* rows, const Tensor& tensor, int64_t s, int64_t kv_head) const {
        visit(tensor, problem_.key_head(sequence(s), kv_head), problem_.key_rows.row, sequence(s).keys,
              [&](char* half, int64_t at) { convert(Dtype::kFloat32, rows + at, tensor.dtype, half, own_.size); });
    }

  private:
    const Sequence& sequence(int64_t s) const { return problem_.sequences[static_cast<size_t>(s)]; }

    template <typename Move>
    void visit(const Tensor& tensor, int64_t start, int64_t stride, int64_t count, const Move& move) const {
        auto* const bytes = static_cast<char*>(tensor.data);
        for (int64_t i = 0; i < count; ++i) {
            move(bytes + (start + i * stride) * size_of(tensor.dtype), i * own_.size);
        }
    }

    const Problem& problem_;
    Problem own_;
    int64_t queries_ = 0;
    int64_t keys_ = 0;
};

// `forward` of tensors; see there.
template <typename Record>
void forward_of(const Problem& problem, const Scoring& scoring, const Operands& operands, const Tensor& out_tensor,
                const Record& record) {
    if (!ByHeads::serves(problem, {&operands.q, &operands.k, &operands.v, &out_tensor})) {
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
        by_heads.widen_keys(operands.k, s, kv_head, k);
        by_heads.widen_keys(operands.v, s, kv_head, v);
        for (int64_t head = kv_head * own.group(); head < (kv_head + 1) * own.group(); ++head) {
            by_heads.widen_queries(operands.q, s, head, q);
            const int64_t count = own.sequences[static_cast<size_t>(s)].queries;
            for (int64_t first = 0; first < count; first += kTileQueries) {
                forward_block(QueryBlock(own, scoring, {s, head, first}, std::min(kTileQueries, count - first)), q, k,
                              v, out, record);
            }
            by_heads.narrow_queries(out, out_tensor, s, head);
        }
    });
}

// The gradients; `normal(index)` tells how the probabilities of a query are found again.
template <typename GetNormal>
void backward_of(const Problem& problem, const Scoring& scoring, const Operands& operands,
                 const GradientTensors& tensors, const GetNormal& normal) {
    if (!ByHeads::serves(problem, {&operands.q, &operands.k, &operands.v, &tensors.out, &tensors.grad_out, &tensors.q,
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
        by_heads.widen_keys(operands.k, s, kv_head, k);
        by_heads.widen_keys(operands.v, s, kv_head, v);
        std::fill_n(grad_k, 2 * of_keys, 0.0f);
        for (int64_t head = kv_head * own.group(); head < (kv_head + 1) * own.group(); ++head) {
            by_heads.widen_queries(operands.q, s, head, q);
            by_heads.widen_queries(tensors.out, s, head, out);
            by_heads.widen_queries(tensors.grad_out, s, head, grad_out);
            std::fill_n(grad_q, of_queries, 0.0f);
            backward_head(own, scoring, s, head, q, k, v, out, grad_out, normal,
                          Gradients<float>{grad_q, grad_k, grad_v});
            by_heads.narrow_queries(grad_q, tensors.q, s, head);
        }
        by_heads.narrow_keys(grad_k, tensors.k, s, kv_head);
        by_heads.narrow_keys(grad_v, tensors.v, s, kv_head);
    });
}

}  // namespace diopigen::core::attention

#endif  // DIOPI_CPU_FUNCTIONS_ATTENTION_BY_HEADS_H_
