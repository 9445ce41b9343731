// Softmax attention over [batch, sequence, heads, head_dim], step by step: the whole matrix of scores is in memory.
#ifndef DIOPIGEN_ADAPTOR_COMPOSITE_ATTENTION_H_
#define DIOPIGEN_ADAPTOR_COMPOSITE_ATTENTION_H_

#include <diopi/functions.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "arithmetic.h"
#include "arrangement.h"
#include "composite.h"
#include "reduction.h"

namespace diopigen {
namespace adaptor {
namespace {
namespace composite {

// What both functions have in common, and what only one of them has.
struct Attention {
    diopiConstTensorHandle_t q;
    diopiConstTensorHandle_t k;
    diopiConstTensorHandle_t v;
    double scale;
    std::int64_t left;   // keys before its own place that a query sees; below 0 for all
    std::int64_t right;  // and behind it
    diopiConstTensorHandle_t slopes;
    double dropout;
    diopiGeneratorHandle_t generator;
};

// Says as the functions themselves what does not go together.
inline void check(Composite& c, const Attention& call) {
    const Sizes queries = c.shape(call.q);
    const Sizes keys = c.shape(call.k);
    if (queries.size() != 4 || keys.size() != 4 || c.shape(call.v) != keys || queries[0] != keys[0] ||
        queries[3] != keys[3]) {
        c.reject(diopiErrorOccurred, "q, k and v are not [batch, sequence, heads, head_dim] of one attention");
    } else if (keys[2] == 0 || queries[2] % keys[2] != 0) {
        c.reject(diopiErrorOccurred, "C1: kv_heads divides heads");
    } else if (!(call.dropout >= 0.0 && call.dropout < 1.0)) {
        c.reject(diopiErrorOccurred, "the probability of dropout is at least 0 and below 1");
    }
    const Sizes slopes = c.shape(call.slopes);
    if (call.slopes != nullptr && slopes != Sizes{queries[2]} && slopes != Sizes{queries[0], queries[2]}) {
        c.reject(diopiErrorOccurred, "C3: alibi_slopes has the shape [heads] or [batch, heads]");
    }
}

// [batch, sequence, kv_heads, head_dim] with every head as often as neighbouring query heads share it.
inline Value repeatedHeads(Composite& c, Value value, std::int64_t heads) {
    const std::int64_t present = c.shape(value.tensor)[2];
    if (present == heads) {
        return value;
    }
    const diopiTensorHandle_t positions = c.make({heads}, diopi_dtype_int64);
    const diopiTensorHandle_t index = c.make({heads}, diopi_dtype_int64);
    const diopiScalar_t none = integer(0);
    const diopiScalar_t all = integer(heads);
    const diopiScalar_t one = integer(1);
    const diopiScalar_t sharing = integer(heads / present);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiArange, positions, &none, &all, &one);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiDivScalar, index, positions, &sharing, RoundModeFloor);
    return selected(value, 2, index);
}

// How far each key is behind the place of each query, [seq_q, seq_k]: j - (i + seq_k - seq_q).
inline Value distances(Composite& c, std::int64_t queries, std::int64_t keys) {
    const Value rows = expanded(positions(c, keys - queries, queries), {1, queries});
    return positions(c, 0, keys) - transposed(rows, 0, 1);
}

// The scores, minus infinity where a key is hidden: [batch, heads, seq_q, seq_k].
inline Value scoresOf(Composite& c, const Attention& call) {
    const Sizes queries = c.shape(call.q);
    const Value q = permuted(c.tensor(call.q), {0, 2, 1, 3});
    const Value k = permuted(repeatedHeads(c, c.tensor(call.k), queries[2]), {0, 2, 3, 1});
    Value scores = product(q, k) * call.scale;
    if (call.slopes == nullptr && call.left < 0 && call.right < 0) {
        return scores;
    }
    const Value distance = distances(c, queries[1], c.shape(call.k)[1]);
    if (call.slopes != nullptr) {
        // As [batch or 1, heads, 1, 1], so that each meets its own scores.
        Sizes sizes = c.shape(call.slopes);
        sizes.insert(sizes.begin(), sizes.size() == 1 ? 3 : 2, 1);
        scores = scores - permuted(expanded(c.tensor(call.slopes), sizes), {2, 3, 0, 1}) * absolute(distance);
    }
    if (call.left >= 0) {
        scores = where(distance < static_cast<double>(-call.left), c.number(-HUGE_VAL), scores);
    }
    if (call.right >= 0) {
        scores = where(static_cast<double>(call.right) < distance, c.number(-HUGE_VAL), scores);
    }
    return scores;
}

// Drops probabilities; `keepMask` becomes which of them stayed.
inline Value thinned(Composite& c, const Attention& call, Value shares, Value& keepMask) {
    const Sizes shape = c.shape(shares.tensor);
    const diopiTensorHandle_t mask = c.make(shape, diopi_dtype_bool);
    keepMask = Value{&c, mask, 0.0};
    if (call.dropout == 0.0) {
        const diopiScalar_t yes = integer(1);
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiFill, mask, &yes);
        return shares;
    }
    const diopiTensorHandle_t rest = c.make(shape);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiDropout, rest, mask, shares.tensor, call.dropout, true, call.generator);
    return Value{&c, rest, 0.0};
}

// `mask` is null, or gets which probabilities dropout kept.
inline void attend(Composite& c, const Attention& call, diopiTensorHandle_t out, diopiTensorHandle_t softmaxLse,
                   diopiTensorHandle_t mask) {
    check(c, call);
    const Sizes queries = c.shape(call.q);
    const Sizes statistics = {queries[0], queries[2], queries[1]};
    if (c.shape(call.k)[1] == 0) {
        c.store(softmaxLse, filled(c, statistics, HUGE_VAL));
        c.store(out, filled(c, queries, 0.0));
        return;
    }
    const Value scores = scoresOf(c, call);
    // The largest score of a query that sees nothing is minus infinity and counts as 0.
    Value top = largest(scores, 3);
    top = where(c.number(-HUGE_VAL) < top, top, c.number(0.0));
    const Value powers = exponential(scores - top);
    const Value total = sum(powers, {3});
    // 1 and more where anything is seen: one of the powers is that of 0. NaN stays NaN.
    const Value blind = total < 0.5;
    const Value shares = powers / where(blind, c.number(1.0), total);
    // Without the last dimension, which has one element.
    const Value lse = sum(where(blind, c.number(HUGE_VAL), top + logarithm(total)), {3}, statistics);
    Value keepMask = c.number(1.0);
    const Value weights = call.dropout != 0.0 || mask != nullptr ? thinned(c, call, shares, keepMask) : shares;
    const Value values = permuted(repeatedHeads(c, c.tensor(call.v), queries[2]), {0, 2, 1, 3});
    const Value result = permuted(product(weights, values), {0, 2, 1, 3});
    c.store(mask, keepMask);
    c.store(softmaxLse, lse);
    c.store(out, result);
}

inline void multiHeadAttention(Composite& c, diopiTensorHandle_t q, diopiTensorHandle_t k, diopiTensorHandle_t v,
                               double dropout, bool isCausal, bool returnDebugMask, double scale,
                               diopiTensorHandle_t out, diopiTensorHandle_t softmaxLse,
                               diopiGeneratorHandle_t generator, diopiTensorHandle_t debugMask) {
    if (returnDebugMask && debugMask == nullptr) {
        c.reject(diopiErrorOccurred, "C3: debug_attn_mask is not null where return_debug_mask is true");
    }
    const Attention call = {q, k, v, scale, -1, isCausal ? 0 : -1, nullptr, dropout, generator};
    attend(c, call, out, softmaxLse, returnDebugMask ? debugMask : nullptr);
}

inline void flashAttention(Composite& c, diopiTensorHandle_t out, diopiTensorHandle_t softmaxLse,
                           diopiGeneratorHandle_t generator, diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
                           diopiConstTensorHandle_t v, diopiConstTensorHandle_t alibiSlopes, float dropout, float scale,
                           bool isCausal, std::int32_t windowLeft, std::int32_t windowRight) {
    const Attention call = {q,           k,
                            v,           static_cast<double>(scale),
                            windowLeft,  isCausal ? 0 : windowRight,
                            alibiSlopes, static_cast<double>(dropout),
                            generator};
    attend(c, call, out, softmaxLse, nullptr);
}

}  // namespace composite
}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_ATTENTION_H_
