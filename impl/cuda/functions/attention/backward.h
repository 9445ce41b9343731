// Gradients of attention for one query and for one key. Short sequences are done so (runs.h), and what blocks leave
// undone.
#ifndef DIOPI_CUDA_ATTENTION_BACKWARD_H_
#define DIOPI_CUDA_ATTENTION_BACKWARD_H_

#include "attention/flash_attention.h"
#include "forward.h"

namespace diopigen::cuda {

// What gradients come from: dense arrays of P, and statistics of the queries.
template <typename P>
struct GradientInputs {
    const P* q;
    const P* k;
    const P* v;
    const P* out;
    const P* grad_out;
    StatisticsIndex index_of;
    const float* shifts;  // of scores: the logarithms of the sums, or the maxima with
    const float* sums;    // the sums; may be null
};

// The product of the gradient and the output of a query, which its scores' gradients are centred by.
template <typename P>
DIOPI_DEVICE float centre_of(const GradientInputs<P>& inputs, int64_t query_at, int64_t size) {
    return dot<float>(inputs.grad_out + query_at, inputs.out + query_at, size);
}

// What a pair of query and key gives to the gradients: of the value, and of the score.
struct Pair {
    float to_value;
    float to_score;
};

template <typename P>
DIOPI_DEVICE Pair pair_of(const DeviceProblem& problem, const Scoring& scoring, const GradientInputs<P>& inputs,
                          const Sequence& own, int64_t s, int64_t head, int64_t query, int64_t key, float centre) {
    const int64_t at = problem.query_at(own, head, query);
    const int64_t key_at = problem.key_at(own, head / (problem.heads / problem.kv_heads), key);
    const float product = dot<float>(inputs.q + at, inputs.k + key_at, problem.size);
    const float value = score(scoring, own, s, head, query, key, product);
    const int64_t row_index = inputs.index_of(own, s, head, query);
    const float exponential = exp(value - inputs.shifts[row_index]);
    const float probability = inputs.sums == nullptr ? exponential : exponential / inputs.sums[row_index];
    float factor = 1;
    if (scoring.dropout.is_active()) {
        const bool survives = scoring.dropout.keeps(probability_at(own, head, query, key));
        factor = survives ? static_cast<float>(scoring.dropout.factor()) : 0;
    }
    const float to_probability = dot<float>(inputs.grad_out + at, inputs.v + key_at, problem.size) * factor;
    return {probability * factor, static_cast<float>(scoring.scale) * probability * (to_probability - centre)};
}

DIOPI_DEVICE inline bool is_seen(const Scoring& scoring, const Sequence& own, int64_t s, int64_t head, int64_t query,
                                 int64_t key) {
    const Span span = attention::window(scoring, own, query);
    return key >= span.first && key < span.last && !is_hidden(scoring, s, head, query, key);
}

// The gradient of a query, by a group with tile_bytes<float>(problem.size, 1) of shared memory.
template <typename P>
DIOPI_DEVICE void query_gradient(const Group& group, const DeviceProblem& problem, const Scoring& scoring,
                                 const GradientInputs<P>& inputs, const Sequence& own, int64_t s, int64_t head,
                                 int64_t query, P* gradient) {
    const int64_t kv_head = head / (problem.heads / problem.kv_heads);
    const Span span = attention::window(scoring, own, query);
    const float centre = centre_of(inputs, problem.query_at(own, head, query), problem.size);
    float* slopes = group.shared<float>();
    float* sums = slopes + group.size();
    for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
        sums[d] = 0;
    }
    for (int64_t start = span.first; start < span.last; start += group.size()) {
        const int64_t key = start + group.thread();
        float slope = 0;
        if (key < span.last && !is_hidden(scoring, s, head, query, key)) {
            slope = pair_of(problem, scoring, inputs, own, s, head, query, key, centre).to_score;
        }
        slopes[group.thread()] = slope;
        group.sync();
        const int64_t end = start + group.size() < span.last ? start + group.size() : span.last;
        for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
            for (int64_t j = start; j < end; ++j) {
                if (slopes[j - start] != 0) {  // hidden keys do not count, whatever they hold
                    sums[d] += slopes[j - start] * static_cast<float>(inputs.k[problem.key_at(own, kv_head, j) + d]);
                }
            }
        }
        group.sync();
    }
    for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
        gradient[problem.query_at(own, head, query) + d] = P(sums[d]);
    }
    group.sync();
}

// The gradients of a key and its value, by a group with tile_bytes<float>(problem.size, 2) of shared memory.
template <typename P>
DIOPI_DEVICE void key_gradient(const Group& group, const DeviceProblem& problem, const Scoring& scoring,
                               const GradientInputs<P>& inputs, const Sequence& own, int64_t s, int64_t kv_head,
                               int64_t key, P* to_keys, P* to_values) {
    const int64_t heads_per_kv = problem.heads / problem.kv_heads;
    float* values = group.shared<float>();
    float* slopes = values + group.size();
    float* value_sums = slopes + group.size();
    float* key_sums = value_sums + problem.size;
    for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
        value_sums[d] = 0;
        key_sums[d] = 0;
    }
    bool is_open = true;  // whether a sum may still be something else than NaN
    for (int64_t head = kv_head * heads_per_kv; head < (kv_head + 1) * heads_per_kv && is_open; ++head) {
        for (int64_t start = 0; start < own.queries && is_open; start += group.size()) {
            const int64_t query = start + group.thread();
            Pair pair{0, 0};
            if (query < own.queries && is_seen(scoring, own, s, head, query, key)) {
                const float centre = centre_of(inputs, problem.query_at(own, head, query), problem.size);
                pair = pair_of(problem, scoring, inputs, own, s, head, query, key, centre);
            }
            values[group.thread()] = pair.to_value;
            slopes[group.thread()] = pair.to_score;
            group.sync();
            const int64_t end = start + group.size() < own.queries ? start + group.size() : own.queries;
            int numbers = 0;
            for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
                for (int64_t i = start; i < end; ++i) {
                    if (values[i - start] != 0 || slopes[i - start] != 0) {
                        const int64_t row = problem.query_at(own, head, i) + d;
                        value_sums[d] += values[i - start] * static_cast<float>(inputs.grad_out[row]);
                        key_sums[d] += slopes[i - start] * static_cast<float>(inputs.q[row]);
                    }
                }
                numbers += value_sums[d] == value_sums[d] || key_sums[d] == key_sums[d] ? 1 : 0;
            }
            is_open = group.sum(numbers) > 0;
            group.sync();
        }
    }
    for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
        to_values[problem.key_at(own, kv_head, key) + d] = P(value_sums[d]);
        to_keys[problem.key_at(own, kv_head, key) + d] = P(key_sums[d]);
    }
    group.sync();
}

// The gradients of q, k and v, which `tensors` names. `sums` may be null (see GradientInputs).
void attend_backward(const Problem& problem, const Scoring& scoring, const attention::Operands& operands,
                     const attention::GradientTensors& tensors, const StatisticsIndex& row_index, const float* shifts,
                     const float* sums);

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ATTENTION_BACKWARD_H_
