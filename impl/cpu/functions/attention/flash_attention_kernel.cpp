// FlashAttention and MultiHeadAttention by tiles of queries and keys.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backward_from.h"
#include "diopi_core/strided.h"

namespace diopigen::core::attention {

namespace {

// Heads of which there must be as many for threads to split them, and the largest number of elements of one.
constexpr int64_t kLeastHeads = 8;
constexpr int64_t kMostElements = 1 << 21;

// Whether keys and values can be widened one head at a time: it follows from the shapes alone, as results must.
bool goes_by_heads(const Problem& problem, const Operands& operands) {
    int64_t longest = 0;
    for (const Sequence& sequence : problem.sequences) {
        longest = std::max(longest, sequence.keys);
    }
    return operands.k.dtype != Dtype::kFloat32 && is_contiguous(operands.k) && is_contiguous(operands.v) &&
           static_cast<int64_t>(problem.sequences.size()) * problem.kv_heads >= kLeastHeads &&
           longest * problem.size <= kMostElements;
}

// The rows of one head of a contiguous tensor of halves, one behind another.
void widen_rows(const Tensor& tensor, int64_t start, int64_t stride, int64_t count, int64_t size, float* rows) {
    const auto* bytes = static_cast<const char*>(tensor.data);
    const int64_t element = size_of(tensor.dtype);
    for (int64_t i = 0; i < count; ++i) {
        convert(tensor.dtype, bytes + (start + i * stride) * element, Dtype::kFloat32, rows + i * size, size);
    }
}

// `forward` with the keys and values of one head at a time in float: they stay in the cache, where those of all heads
// would be written to memory and read again, which is most of the time of a call with few queries.
template <typename Record>
void forward_by_heads(const Problem& problem, const Scoring& scoring, const Operands& operands, const float* q,
                      float* out, Record&& record) {
    Problem own = problem;
    own.key_rows = {problem.size, 0};
    for (Sequence& sequence : own.sequences) {
        sequence.key_start = 0;
    }
    const int64_t tasks = static_cast<int64_t>(problem.sequences.size()) * problem.kv_heads;
    parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
        thread_local std::vector<float> rows;
        for (int64_t task = begin; task < end; ++task) {
            const int64_t s = task / problem.kv_heads;
            const int64_t kv_head = task % problem.kv_heads;
            const Sequence& sequence = problem.sequences[static_cast<size_t>(s)];
            const int64_t count = sequence.keys * problem.size;
            if (static_cast<int64_t>(rows.size()) < 2 * count) {
                rows.resize(static_cast<size_t>(2 * count));
            }
            float* const keys = rows.data();
            float* const values = keys + count;
            const int64_t start = problem.key_head(sequence, kv_head);
            widen_rows(operands.k, start, problem.key_rows.row, sequence.keys, problem.size, keys);
            widen_rows(operands.v, start, problem.key_rows.row, sequence.keys, problem.size, values);
            for (int64_t head = kv_head * problem.group(); head < (kv_head + 1) * problem.group(); ++head) {
                for (int64_t first = 0; first < sequence.queries; first += kTileQueries) {
                    const int64_t queries = std::min(kTileQueries, sequence.queries - first);
                    forward_block(QueryBlock(own, scoring, {s, head, first}, queries), q, keys, values, out, record);
                }
            }
        }
    });
}

}  // namespace

void forward_with_lse(const Problem& problem, const Scoring& scoring, const Operands& operands,
                      const Tensor& out_tensor, float* lse, int64_t longest) {
    const Input<float> q(operands.q);
    const Output<float> out(out_tensor);
    const auto record = [&](const QueryIndex& query_index, float maximum, float sum) {
        const bool is_seen = sum != 0;
        lse[statistic(problem, longest, query_index)] =
            is_seen ? maximum + std::log(sum) : std::numeric_limits<float>::infinity();
    };
    if (goes_by_heads(problem, operands)) {
        forward_by_heads(problem, scoring, operands, q.data(), out.data(), record);
    } else {
        const Input<float> k(operands.k);
        const Input<float> v(operands.v);
        forward(problem, scoring, q.data(), k.data(), v.data(), out.data(), record);
    }
    out.store();
}

void backward_from_lse(const Problem& problem, const Scoring& scoring, const Operands& operands,
                       const GradientTensors& tensors, const Tensor& lse_tensor, int64_t longest) {
    const Input<float> lse(lse_tensor);
    backward_from(problem, scoring, operands, tensors, [&](const QueryIndex& query_index) {
        return Normal<float>{lse[statistic(problem, longest, query_index)], 1.0f};
    });
}

void record_dropout(const Problem& problem, const Dropout& dropout, Bool* mask, int64_t longest_q, int64_t longest_k) {
    for_each_query(problem, [&](const QueryIndex& query_index) {
        const Span all{0, problem.sequences[static_cast<size_t>(query_index.sequence)].keys};
        Bool* row = mask + statistic(problem, longest_q, query_index) * longest_k;
        drop(problem, dropout, query_index, all, [&](int64_t j, bool survives) { row[j] = Bool(survives); });
    });
}

}  // namespace diopigen::core::attention
