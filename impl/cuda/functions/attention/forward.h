// One query of attention by online softmax: a group goes through the keys by tiles as wide as itself, with a running
// maximum and sum. Short sequences and single queries are done so (runs.h), and what blocks leave undone.
#ifndef DIOPI_CUDA_ATTENTION_FORWARD_H_
#define DIOPI_CUDA_ATTENTION_FORWARD_H_

#include <limits>
#include <vector>

#include "attention/operands.h"
#include "diopi_core/math.h"
#include "diopi_cuda/aligned_vector.h"
#include "problem.h"

namespace diopigen::cuda {

using attention::Scoring;
using attention::Span;

// The sum of products, in lanes that do not wait for each other. Its order follows from the count alone; rows that
// begin where 16 bytes do are read by vectors.
template <typename T, typename P>
DIOPI_DEVICE T dot(const P* a, const P* b, int64_t count) {
    constexpr int n = kVectorSize<P>;
    constexpr int kLaneCount = n < 4 ? n : 4;
    const bool is_vectorized = ((reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b)) & 15) == 0;
    T lanes[kLaneCount] = {};
    int64_t i = 0;
    for (; i + n <= count; i += n) {
        AlignedVector<P, n> x;
        AlignedVector<P, n> y;
        if (is_vectorized) {
            x = load_vector<P, n>(a + i);
            y = load_vector<P, n>(b + i);
        } else {
            DIOPI_UNROLL
            for (int e = 0; e < n; ++e) {
                x.elements[e] = a[i + e];
                y.elements[e] = b[i + e];
            }
        }
        DIOPI_UNROLL
        for (int e = 0; e < n; ++e) {
            lanes[e % kLaneCount] += static_cast<T>(x.elements[e]) * static_cast<T>(y.elements[e]);
        }
    }
    T sum = 0;
    for (; i < count; ++i) {
        sum += static_cast<T>(a[i]) * static_cast<T>(b[i]);
    }
    DIOPI_UNROLL
    for (int lane = 0; lane < kLaneCount; ++lane) {
        sum += lanes[lane];
    }
    return sum;
}

DIOPI_DEVICE inline bool is_hidden(const Scoring& scoring, int64_t sequence, int64_t head, int64_t query, int64_t key) {
    const int64_t* strides = scoring.mask_strides;
    return scoring.mask != nullptr &&
           scoring.mask[sequence * strides[0] + head * strides[1] + query * strides[2] + key * strides[3]] != 0;
}

// What makes a score of a product.
template <typename T>
DIOPI_DEVICE T score(const Scoring& scoring, const Sequence& own, int64_t sequence, int64_t head, int64_t query,
                     int64_t key, T product) {
    T value = static_cast<T>(scoring.scale) * product;
    if (scoring.slopes != nullptr) {
        const int64_t distance = query + own.keys - own.queries - key;
        value -= static_cast<T>(scoring.slopes[sequence * scoring.slope_stride + head]) *
                 static_cast<T>(distance < 0 ? -distance : distance);
    }
    return value;
}

// Where a probability is among all.
DIOPI_DEVICE inline int64_t probability_at(const Sequence& own, int64_t head, int64_t query, int64_t key) {
    return own.probability_start + (head * own.queries + query) * own.keys + key;
}

// The factors of dropout for four contiguous probabilities. Where the index of the first one is a multiple of
// four, all were sampled together. What comes after the first `count` is not looked at.
template <typename T>
DIOPI_DEVICE void load_dropout_factors(const attention::Dropout& dropout, int64_t first, int count, T factor,
                                       T* factors) {
    if (dropout.recorded == nullptr && (first & 3) == 0) {
        const auto bits = core::philox(dropout.seed, static_cast<uint64_t>(first / 4), dropout.offset);
        const double least = dropout.probability * 0x1p32;
        DIOPI_UNROLL
        for (int e = 0; e < 4; ++e) {
            factors[e] = static_cast<double>(bits[static_cast<size_t>(e)]) >= least ? factor : T(0);
        }
    } else {
        for (int e = 0; e < 4; ++e) {
            factors[e] = e < count && dropout.keeps(first + e) ? factor : T(0);
        }
    }
}

constexpr int kTile = 128;

template <typename T>
int64_t tile_bytes(int64_t size, int rows) {
    return (static_cast<int64_t>(rows) * kThreads + 2 * size) * static_cast<int64_t>(sizeof(T));
}

// Where statistics of queries stand: [batch, heads, longest, copies], or [queries of all sequences, heads, copies].
struct StatisticsIndex {
    int64_t heads;
    int64_t longest;
    bool is_joined = false;
    int64_t copies = 1;

    DIOPI_DEVICE int64_t operator()(const Sequence& own, int64_t sequence, int64_t head, int64_t query) const {
        const int64_t at =
            is_joined ? (own.query_row + query) * heads + head : (sequence * heads + head) * longest + query;
        return at * copies;
    }
};

// What is recorded of each query: the logarithm of the sum of exponentials, or the maximum and the sum. Null is left
// out.
template <typename T>
struct Record {
    StatisticsIndex index_of;
    T* lse;
    T* maxima;
    T* sums;
};

// What a query has seen of some keys: the largest score, and the sum of the exponentials of all less the largest. The
// sum is 0 where it has seen none.
template <typename T>
struct Seen {
    T top;
    T total;
};

// The keys of a span by a group, which needs tile_bytes<T>(problem.size, 1) of shared memory: `sums` gets the values
// times the exponentials. Elements are computed with in T.
template <typename T, typename P>
DIOPI_DEVICE Seen<T> attend_keys(const Group& group, const DeviceProblem& problem, const Scoring& scoring,
                                 const Sequence& own, int64_t s, int64_t head, int64_t query, const Span& span,
                                 const P* q, const P* k, const P* v, T* sums) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    const KeysOfHead keys(problem, own, head / (problem.heads / problem.kv_heads));
    const P* row = q + problem.query_at(own, head, query);
    T* exponentials = group.template shared<T>();
    for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
        sums[d] = 0;
    }
    T top = -kInfinity;
    T total = 0;
    for (int64_t start = span.first; start < span.last; start += group.size()) {
        const int64_t key = start + group.thread();
        const bool counts = key < span.last && !is_hidden(scoring, s, head, query, key);
        T value = -kInfinity;
        if (counts) {
            const T product = dot<T>(row, k + keys.at(key), problem.size);
            value = score(scoring, own, s, head, query, key, product);
        }
        // NaN is no maximum; it comes into the sum below.
        const T largest = group.reduce(value > -kInfinity ? value : -kInfinity, [](T a, T b) { return b > a ? b : a; });
        const T next = largest > top ? largest : top;
        const T correction = top == -kInfinity ? 0 : exp(top - next);
        const T exponential = counts ? exp(value - next) : 0;
        total = total * correction + group.sum(exponential);
        top = next;
        const bool survives =
            !counts || !scoring.dropout.is_active() || scoring.dropout.keeps(probability_at(own, head, query, key));
        exponentials[group.thread()] = survives ? exponential : 0;
        group.sync();
        const int64_t end = start + group.size() < span.last ? start + group.size() : span.last;
        for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
            T sum = sums[d] * correction;
            for (int64_t j = start; j < end; ++j) {
                if (exponentials[j - start] != 0) {
                    sum += exponentials[j - start] * static_cast<T>(v[keys.at(j) + d]);
                }
            }
            sums[d] = sum;
        }
        group.sync();
    }
    return {top, total};
}

// Writes the row of `out` of one query, and records its statistics. Each thread has its own elements of `sums`.
template <typename T, typename P>
DIOPI_DEVICE void finish_one(const Group& group, const DeviceProblem& problem, const Scoring& scoring,
                             const Sequence& own, int64_t s, int64_t head, int64_t query, const Seen<T>& seen,
                             const T* sums, P* out, const Record<T>& record) {
    const T factor = static_cast<T>(scoring.dropout.factor()) / seen.total;
    for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
        out[problem.query_at(own, head, query) + d] = P(seen.total == 0 ? 0 : sums[d] * factor);
    }
    if (group.thread() == 0) {
        const int64_t row_index = record.index_of(own, s, head, query);
        if (record.lse != nullptr) {
            constexpr T kInfinity = std::numeric_limits<T>::infinity();
            record.lse[row_index] = seen.total == 0 ? kInfinity : seen.top + numeric::log(seen.total);
        }
        if (record.maxima != nullptr) {
            record.maxima[row_index] = seen.top;
            record.sums[row_index] = seen.total;
        }
    }
}

template <typename T, typename P>
DIOPI_DEVICE void attend_one(const Group& group, const DeviceProblem& problem, const Scoring& scoring,
                             const Sequence& own, int64_t s, int64_t head, int64_t query, const P* q, const P* k,
                             const P* v, P* out, const Record<T>& record) {
    T* sums = group.template shared<T>() + group.size();
    const Span span = attention::window(scoring, own, query);
    const Seen<T> seen = attend_keys<T, P>(group, problem, scoring, own, s, head, query, span, q, k, v, sums);
    finish_one<T, P>(group, problem, scoring, own, s, head, query, seen, sums, out, record);
    group.sync();
}

// softmax(scores) v for all queries. Operands are of one dtype and `out` is a dense array of it, of which rows that
// belong to no query stay. Statistics are recorded but for float64. Where `rows` is not null, the keys and values of
// all sequences are rows of theirs that it names, and the start of a sequence counts from the first of those.
void attend(const Problem& problem, const Scoring& scoring, const attention::Operands& operands, void* out,
            const Record<float>& record, const std::vector<int64_t>* rows = nullptr);

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ATTENTION_FORWARD_H_
