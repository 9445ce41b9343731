// What is done to a block of scores and of gradients of probabilities, between the products of the backward pass.
#ifndef DIOPI_CUDA_ATTENTION_BLOCK_GRADIENTS_H_
#define DIOPI_CUDA_ATTENTION_BLOCK_GRADIENTS_H_

#include <cstdint>
#include <cstring>

#include "backward.h"
#include "block_kernels.h"
#include "diopi_cuda/atomic.h"

namespace diopigen::cuda {

// Powers of two that float16 needs: its smallest numbers are coarse, and gradients are small. Products of what was
// multiplied are divided again; both are exact.
template <typename P>
struct Lift {
    static constexpr float kProbabilityScale = 1;  // of probabilities
    DIOPI_DEVICE static float of_slopes(const int64_t*, float) { return 1; }
};
template <>
struct Lift<Half> {
    static constexpr float kProbabilityScale = 4096;

    // For gradients of scores, which are at most `factor` times the largest of grad_output and the largest
    // value, whose bits `largest` holds: they stay below 32768.
    DIOPI_DEVICE static float of_slopes(const int64_t* largest, float factor) {
        const float bound = factor * core::float_of(static_cast<uint32_t>(largest[0])) *
                            core::float_of(static_cast<uint32_t>(largest[1]));
        const int exponent = static_cast<int>(core::bits_of(bound) >> 23) - 127;
        if (!(bound > 0) || exponent > 127) {
            return 1;
        }
        const int lift = 14 - exponent;
        return core::float_of(static_cast<uint32_t>((lift > 100 ? 100 : lift < -100 ? -100 : lift) + 127) << 23);
    }
};

// The bits of the largest absolute value as a float; those of NaN and infinities are larger than all others.
template <typename P>
void find_largest(const P* values, int64_t count, int64_t* largest) {
    constexpr int64_t kPart = 16384;
    for_groups((count + kPart - 1) / kPart, kThreads, 0, [=] DIOPI_KERNEL(Group & group, int64_t part) {
        const int64_t end = (part + 1) * kPart < count ? (part + 1) * kPart : count;
        int64_t own = 0;
        for (int64_t i = part * kPart + group.thread(); i < end; i += group.size()) {
            const int64_t bits = core::bits_of(static_cast<float>(values[i])) & 0x7fffffffu;
            own = bits > own ? bits : own;
        }
        own = group.reduce(own, [](int64_t a, int64_t b) { return b > a ? b : a; });
        if (group.thread() == 0) {
            atomic_max(largest, own);
        }
    });
}

// Scores become probabilities, after dropout and times Lift::kProbabilityScale, and the gradients of those, `slopes`,
// become the gradients of scores, lifted likewise. Both are in place.
template <typename P, bool kPlain>
void to_gradients(const Block& block, const DeviceProblem& problem, const Scoring& scoring,
                  const GradientInputs<P>& inputs, const int64_t* largest, float factor, float* scores, float* slopes) {
    static_assert(sizeof(Parts<P>) == sizeof(float), "the parts of a number do not fit into a score");
    for_groups(block.rows(), threads_of_rows(block.stride), 0, [=] DIOPI_KERNEL(Group & group, int64_t at) {
        const RowIndex row_index = block.index_of(at);
        const RowScores<float, kPlain> row(block, scoring, row_index);
        float* const data = scores + at * block.stride;
        float* const gradients = slopes + at * block.stride;
        const int64_t statistic = inputs.index_of(row_index.own, row_index.sequence, row_index.head, row_index.query);
        const float shift = inputs.shifts[statistic];
        const float inverse_sum = inputs.sums == nullptr ? 1.0f : 1.0f / inputs.sums[statistic];
        const float keep_factor = static_cast<float>(scoring.dropout.factor());
        const float lift = Lift<P>::of_slopes(largest, factor);
        const int64_t query = problem.query_at(row_index.own, row_index.head, row_index.query);
        float centre = 0;
        for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
            centre += static_cast<float>(inputs.grad_out[query + d]) * static_cast<float>(inputs.out[query + d]);
        }
        centre = group.sum(centre);
        const int parts = parts_of(group, block.stride);
        for (int part = 0; part < parts; ++part) {
            for_vectors(group, part, block.stride, [&](int, int key) {
                const AlignedVector<float, 4> products = load_vector<float, 4>(data + key);
                const AlignedVector<float, 4> grad_value = load_vector<float, 4>(gradients + key);
                AlignedVector<Parts<P>, 4> probabilities;
                AlignedVector<Parts<P>, 4> to_scores;
                float times[4] = {1, 1, 1, 1};
                if constexpr (!kPlain) {
                    if (scoring.dropout.is_active()) {
                        const int64_t first =
                            probability_at(row_index.own, row_index.head, row_index.query, block.first_key);
                        load_dropout_factors<float>(scoring.dropout, first + key, block.width - key, keep_factor,
                                                    times);
                    }
                }
                DIOPI_UNROLL
                for (int e = 0; e < 4; ++e) {
                    float used = 0;
                    float slope = 0;
                    if (row.sees(key + e)) {
                        const float exponential =
                            numeric::exp(row.score(key + e, products.elements[e]) - shift) * inverse_sum;
                        used = exponential * times[e] * Lift<P>::kProbabilityScale;
                        slope = row.scale * exponential * (grad_value.elements[e] * times[e] - centre) * lift;
                    }
                    probabilities.elements[e] = Parts<P>::of(used);
                    to_scores.elements[e] = Parts<P>::of(slope);
                }
                *reinterpret_cast<AlignedVector<Parts<P>, 4>*>(data + key) = probabilities;
                *reinterpret_cast<AlignedVector<Parts<P>, 4>*>(gradients + key) = to_scores;
            });
        }
    });
}

// The sums [rows, size] of queries to the rows of their tensors. Rows that are not finite get a flag, but for those
// whose grad_output is not.
template <typename P>
void store_queries(const Block& all, const DeviceProblem& problem, const GradientInputs<P>& inputs,
                   const int64_t* largest, float factor, const float* sums, uint8_t* flags, P* gradient) {
    const auto size = static_cast<uint32_t>(problem.size);
    for_each(all.rows() * size, [=] DIOPI_KERNEL(int64_t at) {
        const uint32_t row = static_cast<uint32_t>(at) / size;
        const uint32_t d = static_cast<uint32_t>(at) - row * size;
        const RowIndex row_index = all.index_of(row);
        const int64_t to = problem.query_at(row_index.own, row_index.head, row_index.query) + d;
        const float sum = sums[at];
        gradient[to] = P(sum / Lift<P>::of_slopes(largest, factor));
        const auto grad_value = static_cast<float>(inputs.grad_out[to]);
        if (!(sum - sum == 0) && grad_value - grad_value == 0) {
            flags[row] = 1;
        }
    });
}

// The key, and its head and sequence, of a row of the sums of keys.
struct KeyIndex {
    Sequence own;
    int64_t sequence;
    int64_t kv_head;
    int64_t key;
};

DIOPI_DEVICE inline KeyIndex key_index(const Block& all, uint32_t row) {
    const auto keys = static_cast<uint32_t>(all.run.first.keys);
    const uint32_t pair = row / keys;
    const uint32_t i = pair / all.kv_heads;
    return {all.sequence(i), all.run.index + i, all.first_kv_head + (pair - i * all.kv_heads), row - pair * keys};
}

// The sums [rows, parts, size] of keys and of values to the rows of their tensors; rows that are not finite get a flag.
template <typename P>
void store_keys(const Block& all, const DeviceProblem& problem, const int64_t* largest, float factor,
                const float* key_sums, const float* value_sums, uint8_t* flags, P* to_keys, P* to_values) {
    const auto size = static_cast<uint32_t>(problem.size);
    const int64_t rows = all.run.count * all.kv_heads * all.run.first.keys;
    for_each(rows * size, [=] DIOPI_KERNEL(int64_t at) {
        constexpr int kParts = Parts<P>::kCount;
        const uint32_t row = static_cast<uint32_t>(at) / size;
        const uint32_t d = static_cast<uint32_t>(at) - row * size;
        const KeyIndex row_index = key_index(all, row);
        const int64_t to = problem.key_at(row_index.own, row_index.kv_head, row_index.key) + d;
        float key = 0;
        float value = 0;
        for (int part = 0; part < kParts; ++part) {
            key += key_sums[(static_cast<int64_t>(row) * kParts + part) * size + d];
            value += value_sums[(static_cast<int64_t>(row) * kParts + part) * size + d];
        }
        to_keys[to] = P(key / Lift<P>::of_slopes(largest, factor));
        to_values[to] = P(value / Lift<P>::kProbabilityScale);
        if (!(key - key == 0 && value - value == 0)) {
            flags[row] = 1;
        }
    });
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ATTENTION_BLOCK_GRADIENTS_H_
