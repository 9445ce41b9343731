// CustomizedFlashAttention and its form for joined sequences, with their gradients. The mask comes from the caller; the
// statistics for the gradient are tensors that the library allocates: maximum and sum of each query, one copy each, and
// one byte per probability of what dropout kept. Probabilities themselves are not kept.
#include "customized_flash_attention.h"

#include <diopi/functions_ext.h>

#include <cstring>

using namespace diopi::cpu;
using namespace diopi::cpu::attention;

namespace {

// The batch that arrays of a layout hold. `unlike` is the message for a k that does not go with q.
Problem problem_of_layout(const Operands& operands, int64_t heads, const char* layout, const char* unlike) {
    require_text("input_layout", layout, {"BSH", "SBH", "BSND", "BNSD"});
    const auto rank = static_cast<int64_t>(std::strlen(layout));
    require(operands.q.rank == rank && operands.k.rank == rank,
            "C1: q, k and v have as many dimensions as input_layout has letters");
    const char* wrong_heads = "C2: head_num is the number of query heads that the layout and the shape of q give";
    const char* wrong_keys = "C3: the number of key heads divides head_num";
    require(heads > 0, wrong_heads);
    const auto place = [&](char letter) { return std::strchr(layout, letter) - layout; };
    const int64_t* q_shape = operands.q.shape;
    const int64_t* k_shape = operands.k.shape;
    const int64_t batch = q_shape[place('B')];
    const int64_t queries = q_shape[place('S')];
    const int64_t keys = k_shape[place('S')];
    require(k_shape[place('B')] == batch, unlike);
    Problem problem;
    problem.heads = heads;
    if (rank == 4) {
        require(q_shape[place('N')] == heads, wrong_heads);
        problem.kv_heads = k_shape[place('N')];
        problem.size = q_shape[3];
        require(k_shape[3] == problem.size, unlike);
    } else {
        require(q_shape[2] % heads == 0, wrong_heads);
        problem.size = q_shape[2] / heads;
        const bool is_whole = problem.size == 0 ? k_shape[2] == 0 : k_shape[2] % problem.size == 0;
        require(is_whole, wrong_keys);
        problem.kv_heads = problem.size == 0 ? heads : k_shape[2] / problem.size;
    }
    require(problem.kv_heads > 0 && heads % problem.kv_heads == 0, wrong_keys);
    // Where the rows of a sequence of `tokens` tokens lie among `count` heads, and where each sequence starts.
    const auto rows = [&](int64_t tokens, int64_t count) -> RowStrides {
        if (place('N') == 1 && rank == 4) {
            return {problem.size, tokens * problem.size};
        }
        return {(place('S') == 0 ? batch : 1) * count * problem.size, problem.size};
    };
    const auto start = [&](int64_t b, int64_t tokens, int64_t count) {
        return b * (place('S') == 0 ? 1 : tokens) * count * problem.size;
    };
    problem.query_rows = rows(queries, heads);
    problem.key_rows = rows(keys, problem.kv_heads);
    for (int64_t b = 0; b < batch; ++b) {
        problem.sequences.push_back({queries, keys, start(b, queries, heads), start(b, keys, problem.kv_heads)});
    }
    number_rows(problem);
    return problem;
}

// The sequences between the rows that the host names.
Problem problem_of_ends(const Operands& operands, diopiSize_t cum_seq_q, diopiSize_t cum_seq_kv, int64_t longest_q,
                        int64_t longest_kv) {
    require_rank(operands.q, 3, 3);
    require_rank(operands.k, 3, 3);
    const diopiSize_t q = require_sizes("cum_seq_q", cum_seq_q);
    const diopiSize_t kv = require_sizes("cum_seq_kv", cum_seq_kv);
    const char* uneven =
        "C2: cum_seq_q and cum_seq_kv have the same length, never fall, and end at the rows of q and k";
    const char* too_long = "C3: no sequence has more than max_seqlen_q queries or max_seqlen_kv keys";
    require(q.len == kv.len, uneven);
    const std::vector<int64_t> query_ends(q.data, q.data + q.len);
    const std::vector<int64_t> key_ends(kv.data, kv.data + kv.len);
    require_ends(query_ends, operands.q.shape[0], uneven, longest_q, too_long);
    require_ends(key_ends, operands.k.shape[0], uneven, longest_kv, too_long);
    return joined_problem(operands, query_ends, key_ends);
}

// A mask [rows, columns] that all sequences and heads use.
void set_shared_mask(Scoring& scoring, const Tensor& mask, int64_t longest_q, int64_t longest_kv, const char* small) {
    if (mask.is_null()) {
        return;
    }
    require_rank(mask, 2, 2);
    require(mask.shape[0] >= longest_q && mask.shape[1] >= longest_kv, small);
    scoring.mask = static_cast<const uint8_t*>(mask.data);
    scoring.mask_strides[2] = mask.strides[0];
    scoring.mask_strides[3] = mask.strides[1];
}

struct Allocations {
    diopiTensorHandle_t* dropout_mask;
    diopiTensorHandle_t* softmax_max;
    diopiTensorHandle_t* softmax_sum;
    diopiTensorHandle_t* softmax_out;

    void check() const {
        require(dropout_mask != nullptr, "parameter 'dropout_mask' is null");
        require(softmax_max != nullptr, "parameter 'softmax_max' is null");
        require(softmax_sum != nullptr, "parameter 'softmax_sum' is null");
        require(softmax_out != nullptr, "parameter 'softmax_out' is null");
    }
};

void run_forward(diopiContextHandle_t ctx, const Problem& problem, Scoring scoring, const Operands& operands,
                 const Tensor& out_tensor, const Allocations& allocations, const std::vector<int64_t>& statistics_shape,
                 const StatisticsLayout& layout, const Draws& draws) {
    const int64_t kept = draws.dropout().is_active() ? probability_count(problem) : 0;
    const Tensor mask = new_tensor(ctx, "dropout_mask", {kept}, Dtype::kUint8, operands.q);
    const Tensor maxima = new_tensor(ctx, "softmax_max", statistics_shape, Dtype::kFloat32, operands.q);
    const Tensor sums = new_tensor(ctx, "softmax_sum", statistics_shape, Dtype::kFloat32, operands.q);
    const Tensor probabilities = new_tensor(ctx, "softmax_out", {0}, Dtype::kFloat32, operands.q);
    record_kept(mask, draws.dropout());
    scoring.dropout = draws.dropout();
    scoring.dropout.recorded = static_cast<const uint8_t*>(mask.data);
    forward_with_statistics(problem, scoring, operands, out_tensor, maxima, sums, layout);
    draws.advance();
    *allocations.dropout_mask = mask.handle;
    *allocations.softmax_max = maxima.handle;
    *allocations.softmax_sum = sums.handle;
    *allocations.softmax_out = probabilities.handle;
}

// What the forward call returned, as the backward call gets it.
struct Saved {
    Tensor dropout_mask;
    Tensor maxima;
    Tensor sums;
    Tensor probabilities;

    Saved(diopiConstTensorHandle_t dropout_mask, diopiConstTensorHandle_t softmax_max,
          diopiConstTensorHandle_t softmax_sum, diopiConstTensorHandle_t softmax_out)
        : dropout_mask(optional_tensor("dropout_mask", dropout_mask, kUint8)),
          maxima(tensor("softmax_max", softmax_max, kFloat32)),
          sums(tensor("softmax_sum", softmax_sum, kFloat32)),
          probabilities(optional_tensor("softmax_out", softmax_out, kFloat32)) {}

    // What the constraints of an operator say of them.
    struct Rules {
        const char* copies;
        const char* kept;
    };

    // `shape` is that of the statistics without their copies.
    void check(const std::vector<int64_t>& shape, double p_dropout, const Problem& problem, const Rules& rules) const {
        require_probability(p_dropout, "p_dropout.range: p_dropout is at least 0 and below 1");
        const auto rank = static_cast<int64_t>(shape.size());
        require_rank(maxima, rank + 1, rank + 1);
        require_same_shape(sums, maxima);
        require(std::equal(shape.begin(), shape.end(), maxima.shape) && maxima.shape[rank] >= 1, rules.copies);
        if (p_dropout > 0) {
            require(!dropout_mask.is_null() && dropout_mask.numel > 0,
                    "C4: dropout_mask is neither null nor empty where p_dropout is above 0");
            require(dropout_mask.numel == probability_count(problem), rules.kept);
        }
    }
};

void run_backward(const Problem& problem, Scoring scoring, const Operands& operands, const GradientTensors& tensors,
                  const Saved& saved, double p_dropout, const StatisticsLayout& layout) {
    const Input<Uint8> kept(saved.dropout_mask);
    scoring.dropout.probability = p_dropout;
    scoring.dropout.recorded = reinterpret_cast<const uint8_t*>(kept.data());
    backward_from_statistics(problem, scoring, operands, tensors, saved.maxima, saved.sums, layout);
}

Scoring scoring_of(float softmax_scale, bool is_causal, int32_t left, int32_t right) {
    Scoring scoring;
    scoring.scale = static_cast<double>(softmax_scale);
    set_window(scoring, is_causal, left, right);
    return scoring;
}

}  // namespace

DIOPI_API diopiError_t diopiCustomizedFlashAttention(
    diopiContextHandle_t ctx, diopiTensorHandle_t attention_out, diopiTensorHandle_t* dropout_mask,
    diopiTensorHandle_t* softmax_max, diopiTensorHandle_t* softmax_sum, diopiTensorHandle_t* softmax_out,
    diopiGeneratorHandle_t gen, diopiConstTensorHandle_t q, diopiConstTensorHandle_t k, diopiConstTensorHandle_t v,
    diopiConstTensorHandle_t alibi_slopes, diopiConstTensorHandle_t attention_mask, float p_dropout,
    float softmax_scale, bool is_causal, int32_t window_size_left, int32_t window_size_right, int32_t head_num,
    const char* input_layout) {
    return guarded("diopiCustomizedFlashAttention", ctx, [&] {
        const Tensor out = tensor("attention_out", attention_out, kHalves);
        const Allocations allocations{dropout_mask, softmax_max, softmax_sum, softmax_out};
        const Operands operands(q, k, v, kHalves);
        const Tensor slopes = optional_tensor("alibi_slopes", alibi_slopes, kFloat32);
        const Tensor mask = optional_tensor("attention_mask", attention_mask, kBool);
        allocations.check();
        const Problem problem = problem_of_layout(operands, head_num, input_layout,
                                                  "C7: q and k have the same batch and the same head_dim");
        const auto batch = static_cast<int64_t>(problem.sequences.size());
        const char* sequence = std::strchr(input_layout, 'S');
        const int64_t queries = operands.q.shape[sequence - input_layout];
        const int64_t keys = operands.k.shape[sequence - input_layout];
        require_same_dtype(out, operands.q);
        require_same_shape(out, operands.q);
        require_slopes(slopes, batch, problem.heads, "C6: alibi_slopes has the shape [head_num] or [batch, head_num]");
        require_probability(static_cast<double>(p_dropout), "p_dropout.range: p_dropout is at least 0 and below 1");
        require_separate({&out}, {&operands.q, &operands.k, &operands.v, &slopes, &mask});
        Scoring scoring = scoring_of(softmax_scale, is_causal, window_size_left, window_size_right);
        set_mask(scoring, mask, {batch, problem.heads, queries, keys},
                 "C5: attention_mask broadcasts to [batch, head_num, seq_q, seq_kv]");
        const Draws draws(gen, static_cast<double>(p_dropout));
        const Input<float> slope_values(slopes);
        set_slopes(scoring, slopes, slope_values);
        run_forward(ctx, problem, scoring, operands, out, allocations, {batch, problem.heads, queries, 1},
                    StatisticsLayout{false, queries}, draws);
    });
}

DIOPI_API diopiError_t diopiCustomizedFlashAttentionBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_q, diopiTensorHandle_t grad_k, diopiTensorHandle_t grad_v,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
    diopiConstTensorHandle_t v, diopiConstTensorHandle_t alibi_slopes, diopiConstTensorHandle_t attention_out,
    diopiConstTensorHandle_t attention_mask, diopiConstTensorHandle_t dropout_mask,
    diopiConstTensorHandle_t softmax_max, diopiConstTensorHandle_t softmax_sum, diopiConstTensorHandle_t softmax_out,
    float p_dropout, float softmax_scale, bool is_causal, int32_t window_size_left, int32_t window_size_right,
    int32_t head_num, const char* input_layout) {
    return guarded("diopiCustomizedFlashAttentionBackward", ctx, [&] {
        const Operands operands(q, k, v, kHalves);
        const GradientTensors tensors(operands, tensor("grad_q", grad_q, kHalves), tensor("grad_k", grad_k, kHalves),
                                      tensor("grad_v", grad_v, kHalves),
                                      tensor("attention_out", attention_out, kHalves),
                                      tensor("grad_output", grad_output, kHalves));
        const Tensor slopes = optional_tensor("alibi_slopes", alibi_slopes, kFloat32);
        const Tensor mask = optional_tensor("attention_mask", attention_mask, kBool);
        const Saved saved(dropout_mask, softmax_max, softmax_sum, softmax_out);
        const Problem problem = problem_of_layout(operands, head_num, input_layout,
                                                  "C8: q and k have the same batch and the same head_dim");
        const auto batch = static_cast<int64_t>(problem.sequences.size());
        const char* sequence = std::strchr(input_layout, 'S');
        const int64_t queries = operands.q.shape[sequence - input_layout];
        const int64_t keys = operands.k.shape[sequence - input_layout];
        require_slopes(slopes, batch, problem.heads, "C7: alibi_slopes has the shape [head_num] or [batch, head_num]");
        saved.check(
            {batch, problem.heads, queries}, static_cast<double>(p_dropout), problem,
            {"C9: softmax_max and softmax_sum have the shape [batch, head_num, seq_q, copies] with at least one copy",
             "C10: dropout_mask is that of the forward call, with one byte for each probability"});
        require_separate({&tensors.q, &tensors.k, &tensors.v},
                         {&operands.q, &operands.k, &operands.v, &tensors.out, &tensors.grad_out, &slopes, &mask,
                          &saved.dropout_mask, &saved.maxima, &saved.sums, &saved.probabilities});
        Scoring scoring = scoring_of(softmax_scale, is_causal, window_size_left, window_size_right);
        set_mask(scoring, mask, {batch, problem.heads, queries, keys},
                 "C6: attention_mask broadcasts to [batch, head_num, seq_q, seq_kv]");
        const Input<float> slope_values(slopes);
        set_slopes(scoring, slopes, slope_values);
        run_backward(problem, scoring, operands, tensors, saved, static_cast<double>(p_dropout),
                     StatisticsLayout{false, queries});
    });
}

DIOPI_API diopiError_t diopiCustomizedFlashAttentionVarLen(
    diopiContextHandle_t ctx, diopiTensorHandle_t attention_out, diopiTensorHandle_t* dropout_mask,
    diopiTensorHandle_t* softmax_max, diopiTensorHandle_t* softmax_sum, diopiTensorHandle_t* softmax_out,
    diopiGeneratorHandle_t gen, diopiConstTensorHandle_t q, diopiConstTensorHandle_t k, diopiConstTensorHandle_t v,
    diopiSize_t cum_seq_q, diopiSize_t cum_seq_kv, diopiConstTensorHandle_t alibi_slopes,
    diopiConstTensorHandle_t attention_mask, int32_t max_seqlen_q, int32_t max_seqlen_kv, float p_dropout,
    float softmax_scale, bool is_causal, int32_t window_size_left, int32_t window_size_right) {
    return guarded("diopiCustomizedFlashAttentionVarLen", ctx, [&] {
        const Tensor out = tensor("attention_out", attention_out, kHalves);
        const Allocations allocations{dropout_mask, softmax_max, softmax_sum, softmax_out};
        const Operands operands(q, k, v, kHalves);
        const Tensor slopes = optional_tensor("alibi_slopes", alibi_slopes, kFloat32);
        const Tensor mask = optional_tensor("attention_mask", attention_mask, kBool);
        allocations.check();
        const Problem problem = problem_of_ends(operands, cum_seq_q, cum_seq_kv, max_seqlen_q, max_seqlen_kv);
        require_same_dtype(out, operands.q);
        require_same_shape(out, operands.q);
        require_slopes(slopes, static_cast<int64_t>(problem.sequences.size()), problem.heads,
                       "C6: alibi_slopes has the shape [heads] or [batch, heads]");
        require_probability(static_cast<double>(p_dropout), "p_dropout.range: p_dropout is at least 0 and below 1");
        require_separate({&out}, {&operands.q, &operands.k, &operands.v, &slopes, &mask});
        Scoring scoring = scoring_of(softmax_scale, is_causal, window_size_left, window_size_right);
        set_shared_mask(scoring, mask, max_seqlen_q, max_seqlen_kv,
                        "C5: attention_mask has at least max_seqlen_q rows and max_seqlen_kv columns");
        const Draws draws(gen, static_cast<double>(p_dropout));
        const Input<float> slope_values(slopes);
        set_slopes(scoring, slopes, slope_values);
        run_forward(ctx, problem, scoring, operands, out, allocations, {operands.q.shape[0], problem.heads, 1},
                    StatisticsLayout{true, 0}, draws);
    });
}

DIOPI_API diopiError_t diopiCustomizedFlashAttentionVarLenBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_q, diopiTensorHandle_t grad_k, diopiTensorHandle_t grad_v,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
    diopiConstTensorHandle_t v, diopiSize_t cum_seq_q, diopiSize_t cum_seq_kv, diopiConstTensorHandle_t alibi_slopes,
    diopiConstTensorHandle_t attention_out, diopiConstTensorHandle_t attention_mask,
    diopiConstTensorHandle_t dropout_mask, diopiConstTensorHandle_t softmax_max, diopiConstTensorHandle_t softmax_sum,
    diopiConstTensorHandle_t softmax_out, int32_t max_seqlen_q, int32_t max_seqlen_kv, float p_dropout,
    float softmax_scale, bool is_causal, int32_t window_size_left, int32_t window_size_right) {
    return guarded("diopiCustomizedFlashAttentionVarLenBackward", ctx, [&] {
        const Operands operands(q, k, v, kHalves);
        const GradientTensors tensors(operands, tensor("grad_q", grad_q, kHalves), tensor("grad_k", grad_k, kHalves),
                                      tensor("grad_v", grad_v, kHalves),
                                      tensor("attention_out", attention_out, kHalves),
                                      tensor("grad_output", grad_output, kHalves));
        const Tensor slopes = optional_tensor("alibi_slopes", alibi_slopes, kFloat32);
        const Tensor mask = optional_tensor("attention_mask", attention_mask, kBool);
        const Saved saved(dropout_mask, softmax_max, softmax_sum, softmax_out);
        const Problem problem = problem_of_ends(operands, cum_seq_q, cum_seq_kv, max_seqlen_q, max_seqlen_kv);
        require_slopes(slopes, static_cast<int64_t>(problem.sequences.size()), problem.heads,
                       "C7: alibi_slopes has the shape [heads] or [batch, heads]");
        saved.check({operands.q.shape[0], problem.heads}, static_cast<double>(p_dropout), problem,
                    {"C8: softmax_max and softmax_sum have at least one copy",
                     "C9: dropout_mask is that of the forward call, with one byte for each probability"});
        require_separate({&tensors.q, &tensors.k, &tensors.v},
                         {&operands.q, &operands.k, &operands.v, &tensors.out, &tensors.grad_out, &slopes, &mask,
                          &saved.dropout_mask, &saved.maxima, &saved.sums, &saved.probabilities});
        Scoring scoring = scoring_of(softmax_scale, is_causal, window_size_left, window_size_right);
        set_shared_mask(scoring, mask, max_seqlen_q, max_seqlen_kv,
                        "C6: attention_mask has at least max_seqlen_q rows and max_seqlen_kv columns");
        const Input<float> slope_values(slopes);
        set_slopes(scoring, slopes, slope_values);
        run_backward(problem, scoring, operands, tensors, saved, static_cast<double>(p_dropout),
                     StatisticsLayout{true, 0});
    });
}
