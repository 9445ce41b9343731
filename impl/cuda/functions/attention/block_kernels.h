// What is done to a block of scores between products of matrices. A group takes a row: the scores of one query of one
// head against the keys of the block, which are all keys that the query may see.
#ifndef DIOPI_CUDA_ATTENTION_BLOCK_KERNELS_H_
#define DIOPI_CUDA_ATTENTION_BLOCK_KERNELS_H_

#include <cstdint>
#include <limits>

#include "forward.h"
#include "runs.h"

namespace diopigen::cuda {

// The query that a row of scores belongs to.
struct RowIndex {
    Sequence own;
    int64_t sequence;
    int64_t head;
    int64_t query;
};

// Rows are numbered by sequence, head with keys, query, and heads with the same keys.
struct Block {
    Run run;  // with the first sequence of the block as its own
    int64_t heads;
    uint32_t first_kv_head;
    uint32_t kv_heads;
    uint32_t heads_per_kv;
    uint32_t first_query;
    uint32_t queries;
    int64_t first_key = 0;
    int width = 0;   // keys
    int stride = 0;  // from row to row, a multiple of 8

    int64_t rows() const { return run.count * kv_heads * queries * heads_per_kv; }

    // The number of a row among those of all queries of these heads and sequences.
    DIOPI_DEVICE int64_t row_of_all(int64_t at) const {
        const uint32_t own = queries * heads_per_kv;
        const uint32_t pair = static_cast<uint32_t>(at) / own;
        return pair * run.first.queries * heads_per_kv + first_query * heads_per_kv +
               (static_cast<uint32_t>(at) - pair * own);
    }

    DIOPI_DEVICE RowIndex index_of(int64_t at) const {
        auto rest = static_cast<uint32_t>(at);
        const uint32_t head_of_group = rest % heads_per_kv;
        rest /= heads_per_kv;
        const uint32_t query = rest % queries;
        rest /= queries;
        const uint32_t kv_head = rest % kv_heads;
        const uint32_t i = rest / kv_heads;
        return {sequence(i), run.index + i,
                static_cast<int64_t>((first_kv_head + kv_head) * heads_per_kv + head_of_group),
                static_cast<int64_t>(first_query + query)};
    }
    DIOPI_DEVICE Sequence sequence(int64_t i) const {
        Sequence own = run.first;
        own.query_start += i * run.query_spacing;
        own.key_start += i * run.key_spacing;
        own.query_row += i * own.queries;
        own.probability_start += i * heads * own.queries * own.keys;
        return own;
    }
};

// A number in place of a score, as products take it: halves are too coarse for probabilities, so that there are two of
// them, a number and what its rounding left, which products add up.
template <typename P, bool kIsHalf = sizeof(P) == 2>
struct Parts {
    static constexpr int kCount = 1;
    P number;
    DIOPI_DEVICE static Parts of(P value) { return {value}; }
};
template <typename P>
struct Parts<P, true> {
    static constexpr int kCount = 2;
    P rounded;
    P rest;
    DIOPI_DEVICE static Parts of(float value) {
        const P rounded(value);
        return {rounded, P(value - static_cast<float>(rounded))};
    }
};

// Scores of a row that a thread keeps in registers at a time.
constexpr int kScoresPerThread = 16;

// Threads that suit rows of a width: each has kScoresPerThread scores where the group may be as large.
inline int threads_of_rows(int width) { return threads_for((width + kScoresPerThread - 1) / kScoresPerThread); }

// Scores of a row. Where kPlain holds, there are neither slopes nor masks.
template <typename S, bool kPlain>
struct RowScores {
    S scale;
    S slope = 0;
    const uint8_t* mask = nullptr;  // of the first key of the block
    int64_t mask_stride = 0;
    int first;  // of the keys of the block that the window shows
    int last;
    int diagonal;  // the key of the block at the query's diagonal

    DIOPI_DEVICE RowScores(const Block& block, const Scoring& scoring, const RowIndex& row_index)
        : scale(static_cast<S>(scoring.scale)) {
        const Span span = attention::window(scoring, row_index.own, row_index.query);
        const int64_t from = span.first - block.first_key;
        const int64_t to = span.last - block.first_key;
        first = static_cast<int>(from < block.width ? from : block.width);
        last = static_cast<int>(to < block.width ? to : block.width);
        diagonal = static_cast<int>(row_index.query + row_index.own.keys - row_index.own.queries - block.first_key);
        if constexpr (!kPlain) {
            if (scoring.slopes != nullptr) {
                slope = static_cast<S>(scoring.slopes[row_index.sequence * scoring.slope_stride + row_index.head]);
            }
            if (scoring.mask != nullptr) {
                const int64_t* strides = scoring.mask_strides;
                mask_stride = strides[3];
                mask = scoring.mask + row_index.sequence * strides[0] + row_index.head * strides[1] +
                       row_index.query * strides[2] + block.first_key * strides[3];
            }
        }
    }
    DIOPI_DEVICE bool sees(int key) const {
        const bool is_inside = key >= first && key < last;
        if constexpr (kPlain) {
            return is_inside;
        } else {
            return is_inside && (mask == nullptr || mask[key * mask_stride] == 0);
        }
    }
    DIOPI_DEVICE S score(int key, S product) const {
        if constexpr (kPlain) {
            return scale * product;
        } else {
            const int distance = diagonal < key ? key - diagonal : diagonal - key;
            return scale * product - slope * static_cast<S>(distance);
        }
    }
};

// Calls `body(n, key)` for the vectors of four scores that a thread has in part `part` of a row: values n to n + 3 for
// keys from `key` on.
template <typename Body>
DIOPI_DEVICE void for_vectors(const Group& group, int part, int stride, const Body& body) {
    const int first = part * kScoresPerThread * group.size();
    DIOPI_UNROLL
    for (int n = 0; n < kScoresPerThread; n += 4) {
        const int key = first + n * group.size() + 4 * group.thread();
        if (key < stride) {
            body(n, key);
        }
    }
}

inline DIOPI_DEVICE int parts_of(const Group& group, int stride) {
    return (stride + kScoresPerThread * group.size() - 1) / (kScoresPerThread * group.size());
}

// Part `part` of the scores of a row to `values`; what the row has not, or the query does not see, is minus infinity.
// Returns whether the thread has a score that the query sees.
template <typename S, bool kPlain>
DIOPI_DEVICE bool load_scores(S (&values)[kScoresPerThread], const Group& group, const RowScores<S, kPlain>& row,
                              const S* data, int part, int stride) {
    bool sees_any = false;
    DIOPI_UNROLL
    for (int n = 0; n < kScoresPerThread; ++n) {
        values[n] = -std::numeric_limits<S>::infinity();
    }
    for_vectors(group, part, stride, [&](int n, int key) {
        const AlignedVector<S, 4> products = load_vector<S, 4>(data + key);
        DIOPI_UNROLL
        for (int e = 0; e < 4; ++e) {
            if (row.sees(key + e)) {
                values[n + e] = row.score(key + e, products.elements[e]);
                sees_any = true;
            }
        }
    });
    return sees_any;
}

template <typename S>
DIOPI_DEVICE S maximum(const S (&values)[kScoresPerThread], S top) {
    DIOPI_UNROLL
    for (int n = 0; n < kScoresPerThread; ++n) {
        top = values[n] > top ? values[n] : top;  // NaN is no maximum; it comes into the sum of exponentials
    }
    return top;
}

// Replaces `values` by the exponentials of their distance to `shift`. Returns `total` with them added one by one.
template <typename S>
DIOPI_DEVICE S add_exponentials(S (&values)[kScoresPerThread], S shift, S total) {
    DIOPI_UNROLL
    for (int n = 0; n < kScoresPerThread; ++n) {
        values[n] = numeric::exp(values[n] - shift);
        total += values[n];
    }
    return total;
}

// The exponentials of part `part` to the memory of its scores, as parts of numbers that products take. Those that
// dropout hides are 0.
template <typename S, typename P, bool kPlain>
DIOPI_DEVICE void store_exponentials(S* data, const S (&values)[kScoresPerThread], const Group& group,
                                     const Block& block, const Scoring& scoring, const RowIndex& row_index, int part) {
    for_vectors(group, part, block.stride, [&](int n, int key) {
        AlignedVector<Parts<P>, 4> exponentials;
        S factors[4] = {1, 1, 1, 1};
        if constexpr (!kPlain) {
            if (scoring.dropout.is_active()) {
                const int64_t first = probability_at(row_index.own, row_index.head, row_index.query, block.first_key);
                load_dropout_factors<S>(scoring.dropout, first + key, block.width - key, 1, factors);
            }
        }
        DIOPI_UNROLL
        for (int e = 0; e < 4; ++e) {
            exponentials.elements[e] = Parts<P>::of(factors[e] == 0 ? S(0) : values[n + e]);
        }
        *reinterpret_cast<AlignedVector<Parts<P>, 4>*>(data + key) = exponentials;
    });
}

// Writes what backward reads of a query: `top`, its largest score, and `total`, the sum of exponentials.
template <typename S>
DIOPI_DEVICE void record_statistics(const Record<S>& record, const RowIndex& row_index, S top, S total) {
    const int64_t at = record.index_of(row_index.own, row_index.sequence, row_index.head, row_index.query);
    if (record.lse != nullptr) {
        record.lse[at] = total == 0 ? std::numeric_limits<S>::infinity() : top + numeric::log(total);
    }
    if (record.maxima != nullptr) {
        record.maxima[at] = top;
        record.sums[at] = total;
    }
}

// Scores become exponentials of their distance to the largest one, in place. Hidden and dropped ones become 0. `totals`
// gets the sum of each row of all queries, before anything is dropped; it is 0 where a query sees no key.
template <typename S, typename P, bool kPlain>
void exponentiate(const Block& block, const Scoring& scoring, S* scores, S* totals, const Record<S>& record) {
    static_assert(sizeof(Parts<P>) == sizeof(S), "the parts of a number do not fit into a score");
    for_groups(block.rows(), threads_of_rows(block.stride), 0, [=] DIOPI_KERNEL(Group & group, int64_t at) {
        constexpr S kInfinity = std::numeric_limits<S>::infinity();
        const RowIndex row_index = block.index_of(at);
        const RowScores<S, kPlain> row(block, scoring, row_index);
        S* const data = scores + at * block.stride;
        const int parts = parts_of(group, block.stride);
        S values[kScoresPerThread];
        bool sees_any = false;
        S top = -kInfinity;
        for (int part = 0; part < parts; ++part) {
            sees_any |= load_scores(values, group, row, data, part, block.stride);
            top = maximum(values, top);
        }
        top = group.reduce(top, [](S a, S b) { return b > a ? b : a; });
        // Where all are hidden, their exponentials are 0, not NaN.
        const bool is_hidden_row = top == -kInfinity && group.sum(sees_any ? 1 : 0) == 0;
        const S shift = is_hidden_row ? S(0) : top;
        S total = 0;
        for (int part = 0; part < parts; ++part) {
            if (parts > 1) {  // else the registers still hold the one part
                load_scores(values, group, row, data, part, block.stride);
            }
            total = add_exponentials(values, shift, total);
            store_exponentials<S, P, kPlain>(data, values, group, block, scoring, row_index, part);
        }
        total = group.sum(total);
        if (group.thread() == 0) {
            totals[block.row_of_all(at)] = total;
            record_statistics(record, row_index, top, total);
        }
    });
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ATTENTION_BLOCK_KERNELS_H_
