// FlashAttention, MultiHeadAttention and CustomizedFlashAttention. For the gradients probabilities are found again from
// the logarithms of the sums; one group for each query, then one for each key.
#include <vector>

#include "attention/customized_flash_attention.h"
#include "diopi_cpu/math.h"
#include "diopi_cpu/words.h"
#include "diopi_cuda/launch.h"
#include "forward.h"

namespace diopi::cuda {

namespace {

// The operands of the gradients; `centres` is room for one float for each query of each head.
struct Backward {
    const float* q;
    const float* k;
    const float* v;
    const float* out;
    const float* grad_out;
    StatisticsPlace place;
    const float* shifts;  // of scores: the logarithms of the sums, or the maxima with
    const float* sums;    // the sums
    float* centres;
};

// What a pair of query and key gives to the gradients: of the value, and of the score.
struct Pair {
    float to_value;
    float to_score;
};

DIOPI_DEVICE Pair pair_of(const DeviceProblem& problem, const Scoring& scoring, const Backward& given, int64_t s,
                          int64_t head, int64_t query, int64_t key) {
    const Sequence& own = problem.sequences[s];
    const Span span = attention::window(scoring, own, query);
    if (key < span.first || key >= span.last || is_hidden(scoring, s, head, query, key)) {
        return {0, 0};
    }
    const int64_t at = problem.query_at(own, head, query);
    const int64_t key_at = problem.key_at(own, head / (problem.heads / problem.kv_heads), key);
    const float product = dot<float>(given.q + at, given.k + key_at, problem.size);
    const float value = score(scoring, own, s, head, query, key, product);
    const int64_t place = given.place(own, s, head, query);
    const float exponential = exp(value - given.shifts[place]);
    const float probability = given.sums == nullptr ? exponential : exponential / given.sums[place];
    float factor = 1;
    if (scoring.dropout.is_active()) {
        const bool is_kept = scoring.dropout.keeps(probability_at(own, head, query, key));
        factor = is_kept ? static_cast<float>(scoring.dropout.factor()) : 0;
    }
    const float to_probability = dot<float>(given.grad_out + at, given.v + key_at, problem.size) * factor;
    const float centre = given.centres[(own.query_row + query) * problem.heads + head];
    return {probability * factor, static_cast<float>(scoring.scale) * probability * (to_probability - centre)};
}

void find_centres(const DeviceProblem& problem, const Backward& given) {
    for_each(problem.queries * problem.heads, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t head = at % problem.heads;
        const Sequence& own = problem.sequences[problem.sequence_of_query(at / problem.heads)];
        const int64_t first = problem.query_at(own, head, at / problem.heads - own.query_row);
        given.centres[at] = dot<float>(given.grad_out + first, given.out + first, problem.size);
    });
}

void query_gradients(const DeviceProblem& problem, const Scoring& scoring, const Backward& given, float* gradient) {
    for_groups(problem.queries * problem.heads, kTile, tile_bytes<float>(problem.size, 1),
               [=] DIOPI_KERNEL(Group & group, int64_t at) {
                   const int64_t head = at % problem.heads;
                   const int64_t s = problem.sequence_of_query(at / problem.heads);
                   const Sequence& own = problem.sequences[s];
                   const int64_t query = at / problem.heads - own.query_row;
                   const int64_t kv_head = head / (problem.heads / problem.kv_heads);
                   const Span span = attention::window(scoring, own, query);
                   float* slopes = group.shared<float>();
                   float* sums = slopes + group.size();
                   for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
                       sums[d] = 0;
                   }
                   for (int64_t start = span.first; start < span.last; start += group.size()) {
                       const int64_t key = start + group.thread();
                       const bool is_inside = key < span.last;
                       slopes[group.thread()] =
                           is_inside ? pair_of(problem, scoring, given, s, head, query, key).to_score : 0;
                       group.sync();
                       const int64_t end = start + group.size() < span.last ? start + group.size() : span.last;
                       for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
                           for (int64_t j = start; j < end; ++j) {
                               sums[d] += slopes[j - start] * given.k[problem.key_at(own, kv_head, j) + d];
                           }
                       }
                       group.sync();
                   }
                   for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
                       gradient[problem.query_at(own, head, query) + d] = sums[d];
                   }
               });
}

void key_gradients(const DeviceProblem& problem, const Scoring& scoring, const Backward& given, float* to_keys,
                   float* to_values) {
    for_groups(problem.keys * problem.kv_heads, kTile, tile_bytes<float>(problem.size, 2),
               [=] DIOPI_KERNEL(Group & group, int64_t at) {
                   const int64_t kv_head = at % problem.kv_heads;
                   const int64_t s = problem.sequence_of_key(at / problem.kv_heads);
                   const Sequence& own = problem.sequences[s];
                   const int64_t key = at / problem.kv_heads - problem.key_rows_before[s];
                   const int64_t shared_by = problem.heads / problem.kv_heads;
                   float* shares = group.shared<float>();
                   float* slopes = shares + group.size();
                   float* value_sums = slopes + group.size();
                   float* key_sums = value_sums + problem.size;
                   for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
                       value_sums[d] = 0;
                       key_sums[d] = 0;
                   }
                   for (int64_t head = kv_head * shared_by; head < (kv_head + 1) * shared_by; ++head) {
                       for (int64_t start = 0; start < own.queries; start += group.size()) {
                           const int64_t query = start + group.thread();
                           Pair pair{0, 0};
                           if (query < own.queries) {
                               pair = pair_of(problem, scoring, given, s, head, query, key);
                           }
                           shares[group.thread()] = pair.to_value;
                           slopes[group.thread()] = pair.to_score;
                           group.sync();
                           const int64_t end = start + group.size() < own.queries ? start + group.size() : own.queries;
                           for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
                               for (int64_t i = start; i < end; ++i) {
                                   const int64_t row = problem.query_at(own, head, i) + d;
                                   value_sums[d] += shares[i - start] * given.grad_out[row];
                                   key_sums[d] += slopes[i - start] * given.q[row];
                               }
                           }
                           group.sync();
                       }
                   }
                   for (int64_t d = group.thread(); d < problem.size; d += group.size()) {
                       to_values[problem.key_at(own, kv_head, key) + d] = value_sums[d];
                       to_keys[problem.key_at(own, kv_head, key) + d] = key_sums[d];
                   }
               });
}

void mark_kept(uint8_t* bytes, int64_t count, const attention::Dropout& dropout) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) { bytes[i] = dropout.keeps(i) ? 1 : 0; });
}

void record(const DeviceProblem& problem, const attention::Dropout& dropout, Bool* mask, int64_t longest_q,
            int64_t longest_k) {
    for_each(problem.queries * problem.heads, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t head = at % problem.heads;
        const int64_t s = problem.sequence_of_query(at / problem.heads);
        const Sequence& own = problem.sequences[s];
        const int64_t query = at / problem.heads - own.query_row;
        Bool* row = mask + ((s * problem.heads + head) * longest_q + query) * longest_k;
        for (int64_t key = 0; key < own.keys; ++key) {
            row[key] = Bool(dropout.keeps(probability_at(own, head, query, key)));
        }
    });
}

}  // namespace

}  // namespace diopi::cuda

namespace diopi::cpu::attention {

std::vector<int64_t> indices(const Tensor& tensor) {
    const Input<Int64> elements(tensor);
    std::vector<int64_t> values(static_cast<size_t>(tensor.numel));
    if (tensor.numel > 0) {
        cuda::read_back(values.data(), elements.data(), values.size() * sizeof(int64_t));
    }
    return values;
}

void forward_with_lse(const Problem& problem, const Scoring& scoring, const Operands& operands,
                      const Tensor& out_tensor, float* lse, int64_t longest) {
    const NewWords out(out_tensor);
    cuda::attend(problem, scoring, operands, out.as<char>(), {{problem.heads, longest}, lse, nullptr, nullptr});
    out.store();
}

namespace {

// `sums` may be null.
void backward(const Problem& problem, const Scoring& scoring, const Operands& operands, const GradientTensors& tensors,
              const cuda::StatisticsPlace& place, const float* shifts, const float* sums) {
    const Input<float> q(operands.q);
    const Input<float> k(operands.k);
    const Input<float> v(operands.v);
    const Input<float> out(tensors.out);
    const Input<float> grad_out(tensors.grad_out);
    const Output<float> grad_q(tensors.q);
    const Output<float> grad_k(tensors.k);
    const Output<float> grad_v(tensors.v);
    const cuda::SentProblem sent(problem);
    Buffer centres;
    centres.allocate(sent.problem().queries * problem.heads * static_cast<int64_t>(sizeof(float)));
    const cuda::Backward given{q.data(),
                               k.data(),
                               v.data(),
                               out.data(),
                               grad_out.data(),
                               place,
                               shifts,
                               sums,
                               static_cast<float*>(centres.data())};
    cuda::find_centres(sent.problem(), given);
    cuda::query_gradients(sent.problem(), scoring, given, grad_q.data());
    cuda::key_gradients(sent.problem(), scoring, given, grad_k.data(), grad_v.data());
    grad_q.store();
    grad_k.store();
    grad_v.store();
}

}  // namespace

void backward_from_lse(const Problem& problem, const Scoring& scoring, const Operands& operands,
                       const GradientTensors& tensors, const Tensor& lse_tensor, int64_t longest) {
    const Input<float> lse(lse_tensor);
    backward(problem, scoring, operands, tensors, {problem.heads, longest}, lse.data(), nullptr);
}

void record_kept(const Tensor& mask, const Dropout& dropout) {
    cuda::mark_kept(static_cast<uint8_t*>(mask.data), mask.numel, dropout);
}

void forward_with_statistics(const Problem& problem, const Scoring& scoring, const Operands& operands,
                             const Tensor& out_tensor, const Tensor& maxima, const Tensor& sums,
                             const StatisticsLayout& layout) {
    const NewWords out(out_tensor);
    cuda::attend(
        problem, scoring, operands, out.as<char>(),
        {{problem.heads, layout.queries, layout.is_joined}, nullptr, maxima.elements<float>(), sums.elements<float>()});
    out.store();
}

void backward_from_statistics(const Problem& problem, const Scoring& scoring, const Operands& operands,
                              const GradientTensors& tensors, const Tensor& maxima_tensor, const Tensor& sums_tensor,
                              const StatisticsLayout& layout) {
    const Input<float> maxima(maxima_tensor);
    const Input<float> sums(sums_tensor);
    const int64_t copies = maxima_tensor.shape[maxima_tensor.rank - 1];
    backward(problem, scoring, operands, tensors, {problem.heads, layout.queries, layout.is_joined, copies},
             maxima.data(), sums.data());
}

void record_dropout(const Problem& problem, const Dropout& dropout, Bool* mask, int64_t longest_q, int64_t longest_k) {
    const cuda::SentProblem sent(problem);
    cuda::record(sent.problem(), dropout, mask, longest_q, longest_k);
}

}  // namespace diopi::cpu::attention
