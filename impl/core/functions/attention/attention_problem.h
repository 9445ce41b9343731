// The core of all forms of attention: softmax(scale * q k' + bias) v for every head of every sequence, and its
// gradient.
//
// Operands are dense arrays of the compute type (dense.h). How their rows lie - padded, joined, in whichever order of
// dimensions - is told by strides and by where each sequence starts, so that one core serves them all. This file has
// what the core is about, and one query at a time; tiles.h takes them in blocks. Row maxima are taken off before
// exponentials.
#ifndef DIOPI_CORE_FUNCTIONS_ATTENTION_ATTENTION_PROBLEM_H_
#define DIOPI_CORE_FUNCTIONS_ATTENTION_ATTENTION_PROBLEM_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "diopi_core/philox.h"
#include "diopi_core/threads.h"

namespace diopigen::core::attention {

// How the rows of an array lie, in elements.
struct RowStrides {
    int64_t row = 0;   // from one token to the next
    int64_t head = 0;  // from one head to the next
};

// One element of the batch. Starts count elements from the beginning of the arrays.
struct Sequence {
    int64_t queries = 0;
    int64_t keys = 0;
    int64_t query_start = 0;
    int64_t key_start = 0;
    int64_t query_row = 0;          // number of queries of the sequences before this one
    int64_t probability_start = 0;  // number of probabilities of those sequences
};

struct Problem {
    std::vector<Sequence> sequences;
    int64_t heads = 0;
    int64_t kv_heads = 0;  // divides heads; each serves neighbouring query heads
    int64_t size = 0;      // elements of a head
    RowStrides query_rows;
    RowStrides key_rows;

    int64_t group() const { return kv_heads == 0 ? 0 : heads / kv_heads; }
    // Where the rows of one head start.
    int64_t query_head(const Sequence& sequence, int64_t head) const {
        return sequence.query_start + head * query_rows.head;
    }
    int64_t key_head(const Sequence& sequence, int64_t kv_head) const {
        return sequence.key_start + kv_head * key_rows.head;
    }
};

// Which probabilities survive: sampled with Philox for their index among all, or as recorded (one byte each).
struct Dropout {
    static constexpr uint64_t kOffsetPerCall = 4;  // by how much a call advances the generator's offset

    double probability = 0;
    uint64_t seed = 0;
    uint64_t offset = 0;
    const uint8_t* recorded = nullptr;

    DIOPI_HOST_DEVICE bool is_active() const { return probability > 0; }
    DIOPI_HOST_DEVICE double factor() const { return 1 / (1 - probability); }
    DIOPI_HOST_DEVICE bool keeps(int64_t query_index) const {
        if (recorded != nullptr) {
            return recorded[query_index] != 0;
        }
        const auto bits = philox(seed, static_cast<uint64_t>(query_index / 4), offset);
        return static_cast<double>(bits[static_cast<size_t>(query_index % 4)]) >= probability * 0x1p32;
    }
};

// What makes a score of the product of a query and a key. Masks are bottom-right aligned: the diagonal of query i is
// key i + keys - queries.
struct Scoring {
    double scale = 1;
    int64_t left = -1;                       // keys before its diagonal that a query sees; negative for all
    int64_t right = -1;                      // keys behind it
    const float* slopes = nullptr;           // linear bias: -slope * distance
    int64_t slope_stride = 0;                // from one sequence to the next; heads are contiguous
    const uint8_t* mask = nullptr;           // not 0 hides a key
    int64_t mask_strides[4] = {0, 0, 0, 0};  // sequence, head, query, key
    Dropout dropout;
};

// The keys from `first` to before `last` that windows leave to a query.
struct Span {
    int64_t first;
    int64_t last;
};

DIOPI_HOST_DEVICE inline Span window(const Scoring& scoring, const Sequence& sequence, int64_t query) {
    const int64_t diagonal = query + sequence.keys - sequence.queries;
    const int64_t last = scoring.right < 0 ? sequence.keys : std::min(sequence.keys, diagonal + scoring.right + 1);
    const int64_t first = scoring.left < 0 ? 0 : std::max<int64_t>(0, diagonal - scoring.left);
    return {first, std::max(first, last)};
}

// The sum of products, in several running sums that do not wait for each other.
template <typename T>
T dot(const T* a, const T* b, int64_t count) {
    constexpr int kLanes = 16;
    T lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += a[i + lane] * b[i + lane];
        }
    }
    T sum = 0;
    for (; i < count; ++i) {
        sum += a[i] * b[i];
    }
    for (const T lane : lanes) {
        sum += lane;
    }
    return sum;
}

// to += factor * from
template <typename T>
void add_multiple(T* to, T factor, const T* from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        to[i] += factor * from[i];
    }
}

// One query of one head of one sequence.
struct QueryIndex {
    int64_t sequence;
    int64_t head;
    int64_t query;
};

// The scores of a query in `scores[first..last)`, minus infinity where the mask hides a key. Returns how many it sees.
template <typename T>
int64_t score_row(const Problem& problem, const Scoring& scoring, const QueryIndex& query_index, Span span,
                  const T* query, const T* keys, T* scores) {
    const Sequence& sequence = problem.sequences[static_cast<size_t>(query_index.sequence)];
    const int64_t diagonal = query_index.query + sequence.keys - sequence.queries;
    const T scale = static_cast<T>(scoring.scale);
    for (int64_t j = span.first; j < span.last; ++j) {
        scores[j] = scale * dot(query, keys + j * problem.key_rows.row, problem.size);
    }
    if (scoring.slopes != nullptr) {
        const T slope = static_cast<T>(scoring.slopes[query_index.sequence * scoring.slope_stride + query_index.head]);
        for (int64_t j = span.first; j < span.last; ++j) {
            scores[j] -= slope * static_cast<T>(std::abs(diagonal - j));
        }
    }
    int64_t seen = span.last - span.first;
    if (scoring.mask != nullptr) {
        const int64_t* strides = scoring.mask_strides;
        const uint8_t* row = scoring.mask + query_index.sequence * strides[0] + query_index.head * strides[1] +
                             query_index.query * strides[2];
        for (int64_t j = span.first; j < span.last; ++j) {
            if (row[j * strides[3]] != 0) {
                scores[j] = -std::numeric_limits<T>::infinity();
                --seen;
            }
        }
    }
    return seen;
}

template <typename T>
struct Exponentials {
    T maximum;
    T sum;
};

// Turns scores into exponentials of their distance to the maximum; hidden ones become 0. NaN makes the sum NaN.
template <typename T>
Exponentials<T> exponentials(Span span, T* scores) {
    T maximum = -std::numeric_limits<T>::infinity();
    for (int64_t j = span.first; j < span.last; ++j) {
        maximum = scores[j] > maximum ? scores[j] : maximum;
    }
    T sum = 0;
    for (int64_t j = span.first; j < span.last; ++j) {
        scores[j] = std::exp(scores[j] - maximum);
        sum += scores[j];
    }
    return {maximum, sum};
}

// Calls `body(sequence, head, first, last)` for all queries in blocks of at most `size`, spread over the threads.
template <typename Body>
void for_each_block(const Problem& problem, int64_t size, Body&& body) {
    struct Block {
        int64_t sequence;
        int64_t head;
        int64_t first;
    };
    std::vector<Block> blocks;
    int64_t work = 1;
    for (size_t s = 0; s < problem.sequences.size(); ++s) {
        const Sequence& sequence = problem.sequences[s];
        work = std::max(work, std::min(size, sequence.queries) * sequence.keys * (problem.size + 1));
        for (int64_t head = 0; head < problem.heads; ++head) {
            for (int64_t first = 0; first < sequence.queries; first += size) {
                blocks.push_back({static_cast<int64_t>(s), head, first});
            }
        }
    }
    parallel_for(static_cast<int64_t>(blocks.size()), 1 + 65536 / work, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
            const Block& block = blocks[static_cast<size_t>(b)];
            const int64_t queries = problem.sequences[static_cast<size_t>(block.sequence)].queries;
            body(block.sequence, block.head, block.first, std::min(queries, block.first + size));
        }
    });
}

// Calls `body(position)` for all queries, spread over the threads.
template <typename Body>
void for_each_query(const Problem& problem, Body&& body) {
    constexpr int64_t kQueries = 16;
    for_each_block(problem, kQueries, [&](int64_t sequence, int64_t head, int64_t first, int64_t last) {
        for (int64_t query = first; query < last; ++query) {
            body(QueryIndex{sequence, head, query});
        }
    });
}

// Which probabilities of a row dropout keeps: `apply(j, survives)` for each key of the span.
template <typename Apply>
void drop(const Problem& problem, const Dropout& dropout, const QueryIndex& query_index, Span span, Apply&& apply) {
    const Sequence& sequence = problem.sequences[static_cast<size_t>(query_index.sequence)];
    const int64_t row =
        sequence.probability_start + (query_index.head * sequence.queries + query_index.query) * sequence.keys;
    for (int64_t j = span.first; j < span.last; ++j) {
        apply(j, dropout.keeps(row + j));
    }
}

// Writes the row of `out` of one query; 0 where it sees no key. `record(position, maximum, sum)` takes the largest
// score and the sum of exponentials; the sum is 0 where it sees no key.
template <typename T, typename Record>
void forward_row(const Problem& problem, const Scoring& scoring, const QueryIndex& query_index, const T* q, const T* k,
                 const T* v, T* out, Record&& record) {
    thread_local std::vector<T> scores;
    const Sequence& sequence = problem.sequences[static_cast<size_t>(query_index.sequence)];
    scores.resize(static_cast<size_t>(sequence.keys));
    T* row = scores.data();
    const Span span = window(scoring, sequence, query_index.query);
    const int64_t query_row =
        problem.query_head(sequence, query_index.head) + query_index.query * problem.query_rows.row;
    const int64_t key_start = problem.key_head(sequence, query_index.head / problem.group());
    T* result = out + query_row;
    std::fill(result, result + problem.size, T(0));
    if (score_row(problem, scoring, query_index, span, q + query_row, k + key_start, row) == 0) {
        record(query_index, -std::numeric_limits<T>::infinity(), T(0));
        return;
    }
    const Exponentials<T> total = exponentials(span, row);
    record(query_index, total.maximum, total.sum);
    T factor = 1 / total.sum;
    if (scoring.dropout.is_active()) {
        factor = static_cast<T>(scoring.dropout.factor()) / total.sum;
        drop(problem, scoring.dropout, query_index, span,
             [&](int64_t j, bool survives) { row[j] = survives ? row[j] : T(0); });
    }
    for (int64_t j = span.first; j < span.last; ++j) {
        add_multiple(result, row[j] * factor, v + key_start + j * problem.key_rows.row, problem.size);
    }
}

// How the backward pass finds probabilities again: exp(score - shift) / sum.
template <typename T>
struct Normal {
    T shift;
    T sum;
};

template <typename T>
struct Gradients {
    T* q;
    T* k;
    T* v;
};

// Adds what one query contributes to the gradients. `buffer` is room that callers keep.
template <typename T>
void backward_row(const Problem& problem, const Scoring& scoring, const QueryIndex& query_index, const T* q, const T* k,
                  const T* v, const T* out, const T* grad_out, const Normal<T>& normal, const Gradients<T>& gradients,
                  std::vector<T>& buffer) {
    const int64_t size = problem.size;
    const T scale = static_cast<T>(scoring.scale);
    const T keep_factor = static_cast<T>(scoring.dropout.factor());
    const Sequence& sequence = problem.sequences[static_cast<size_t>(query_index.sequence)];
    buffer.resize(static_cast<size_t>(2 * sequence.keys));
    T* probabilities = buffer.data();
    T* factors = probabilities + sequence.keys;  // 0 where dropped, else what dropout multiplies by
    const Span span = window(scoring, sequence, query_index.query);
    const int64_t query_row =
        problem.query_head(sequence, query_index.head) + query_index.query * problem.query_rows.row;
    const int64_t key_start = problem.key_head(sequence, query_index.head / problem.group());
    if (score_row(problem, scoring, query_index, span, q + query_row, k + key_start, probabilities) == 0) {
        return;
    }
    for (int64_t j = span.first; j < span.last; ++j) {
        probabilities[j] = std::exp(probabilities[j] - normal.shift) / normal.sum;  // 0 where hidden
        factors[j] = 1;
    }
    if (scoring.dropout.is_active()) {
        drop(problem, scoring.dropout, query_index, span,
             [&](int64_t j, bool survives) { factors[j] = survives ? keep_factor : T(0); });
    }
    const T* grad = grad_out + query_row;
    const T centre = dot(grad, out + query_row, size);
    for (int64_t j = span.first; j < span.last; ++j) {
        const int64_t key_row = key_start + j * problem.key_rows.row;
        const T to_probability = dot(grad, v + key_row, size) * factors[j];
        const T to_score = scale * probabilities[j] * (to_probability - centre);
        add_multiple(gradients.v + key_row, probabilities[j] * factors[j], grad, size);
        add_multiple(gradients.k + key_row, to_score, q + query_row, size);
        add_multiple(gradients.q + query_row, to_score, k + key_row, size);
    }
}

}  // namespace diopigen::core::attention

#endif  // DIOPI_CORE_FUNCTIONS_ATTENTION_ATTENTION_PROBLEM_H_
