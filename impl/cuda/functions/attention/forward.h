// One query of attention by online softmax: a group goes through the keys by tiles as wide as itself, with a running
// maximum and sum. Short sequences and single queries are done so (runs.h), and what blocks leave undone.
#ifndef DIOPI_CUDA_ATTENTION_FORWARD_H_
#define DIOPI_CUDA_ATTENTION_FORWARD_H_

#include <limits>

#include "attention/operands.h"
#include "diopi_cpu/math.h"
#include "diopi_cuda/launch.h"
#include "problem.h"

namespace diopi::cuda {

using attention::Scoring;
using attention::Span;

template <typename T, typename P>
DIOPI_DEVICE T dot(const P* a, const P* b, int64_t count) {
    T sum = 0;
    for (int64_t i = 0; i < count; ++i) {
        sum += static_cast<T>(a[i]) * static_cast<T>(b[i]);
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

// Where a probability stands among all.
DIOPI_DEVICE inline int64_t probability_at(const Sequence& own, int64_t head, int64_t query, int64_t key) {
    return own.probability_start + (head * own.queries + query) * own.keys + key;
}

constexpr int kTile = 128;

template <typename T>
int64_t tile_bytes(int64_t size, int rows) {
    return (static_cast<int64_t>(rows) * kThreads + 2 * size) * static_cast<int64_t>(sizeof(T));
}

// Where statistics of queries stand: [batch, heads, longest, copies], or [queries of all sequences, heads, copies].
struct StatisticsPlace {
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
    StatisticsPlace place;
    T* lse;
    T* maxima;
    T* sums;
};

// One query by a group, which needs tile_bytes<T>(problem.size, 1) of shared memory. Elements are computed with in T.
template <typename T, typename P>
DIOPI_DEVICE void attend_one(const Group& group, const DeviceProblem& problem, const Scoring& scoring,
                             const Sequence& own, int64_t s, int64_t head, int64_t query, const P* q, const P* k,
                             const P* v, P* out, const Record<T>& record) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    const int64_t kv_head = head / (problem.heads / problem.kv_heads);
    const Span span = attention::window(scoring, own, query);
    const P* row = q + problem.query_at(own, head, query);
    T* shares = group.template shared<T>();
    T* sums = shares + group.size();
    for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
        sums[d] = 0;
    }
    T top = -kInfinity;
    T total = 0;
    int seen = 0;
    for (int64_t start = span.first; start < span.last; start += group.size()) {
        const int64_t key = start + group.thread();
        const bool counts = key < span.last && !is_hidden(scoring, s, head, query, key);
        T value = -kInfinity;
        if (counts) {
            const T product = dot<T>(row, k + problem.key_at(own, kv_head, key), problem.size);
            value = score(scoring, own, s, head, query, key, product);
        }
        seen += group.sum(counts ? 1 : 0);
        // NaN is no maximum; it comes into the sum below.
        const T largest = group.reduce(value > -kInfinity ? value : -kInfinity, [](T a, T b) { return b > a ? b : a; });
        const T next = largest > top ? largest : top;
        const T correction = top == -kInfinity ? 0 : exp(top - next);
        const T share = counts ? exp(value - next) : 0;
        total = total * correction + group.sum(share);
        top = next;
        const bool is_kept =
            !counts || !scoring.dropout.is_active() || scoring.dropout.keeps(probability_at(own, head, query, key));
        shares[group.thread()] = is_kept ? share : 0;
        group.sync();
        const int64_t end = start + group.size() < span.last ? start + group.size() : span.last;
        for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
            T sum = sums[d] * correction;
            for (int64_t j = start; j < end; ++j) {
                if (shares[j - start] != 0) {
                    sum += shares[j - start] * static_cast<T>(v[problem.key_at(own, kv_head, j) + d]);
                }
            }
            sums[d] = sum;
        }
        group.sync();
    }
    const T factor = static_cast<T>(scoring.dropout.factor()) / total;
    for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
        out[problem.query_at(own, head, query) + d] = P(seen == 0 ? 0 : sums[d] * factor);
    }
    if (group.thread() == 0) {
        const int64_t place = record.place(own, s, head, query);
        if (record.lse != nullptr) {
            record.lse[place] = seen == 0 ? kInfinity : top + numeric::log(total);
        }
        if (record.maxima != nullptr) {
            record.maxima[place] = top;
            record.sums[place] = total;
        }
    }
    group.sync();
}

// softmax(scores) v for all queries. Operands are of one dtype and `out` is a dense array of it, of which rows that
// belong to no query stay. Statistics are recorded but for float64.
void attend(const Problem& problem, const Scoring& scoring, const attention::Operands& operands, void* out,
            const Record<float>& record);

}  // namespace diopi::cuda

#endif  // DIOPI_CUDA_ATTENTION_FORWARD_H_
