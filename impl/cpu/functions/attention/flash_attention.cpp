// FlashAttention and its form for joined sequences, with their gradients: linear bias, windows, dropout.
#include "flash_attention.h"

#include <diopi/functions_ext.h>

using namespace diopi::cpu;
using namespace diopi::cpu::attention;

namespace {

// The settings of a call, checked and turned into a Scoring but for the slopes.
struct Settings {
    float p_dropout;
    float softmax_scale;
    bool is_causal;
    int32_t window_size_left;
    int32_t window_size_right;

    Scoring scoring(const Draws& draws) const {
        Scoring scoring;
        scoring.scale = static_cast<double>(softmax_scale);
        set_window(scoring, is_causal, window_size_left, window_size_right);
        scoring.dropout = draws.dropout();
        return scoring;
    }
    void check() const {
        require_probability(static_cast<double>(p_dropout), "p_dropout.range: p_dropout is at least 0 and below 1");
    }
};

constexpr const char* kSlopeShape = "C3: alibi_slopes has the shape [heads] or [batch, heads]";

// The two tensors of starts of joined sequences.
struct Starts {
    Tensor q;
    Tensor kv;

    Starts(diopiConstTensorHandle_t cum_seq_q, diopiConstTensorHandle_t cum_seq_kv)
        : q(tensor("cum_seq_q", cum_seq_q, kInt32)), kv(tensor("cum_seq_kv", cum_seq_kv, kInt32)) {
        require_rank(q, 1, 1);
        require_same_shape(kv, q);
    }
    Problem problem(const Operands& operands, int64_t longest_q, int64_t longest_kv) const {
        require_rank(operands.q, 3, 3);
        require_rank(operands.k, 3, 3);
        return joined_problem(operands, ends_from_starts(q, operands.q.shape[0], longest_q),
                              ends_from_starts(kv, operands.k.shape[0], longest_kv));
    }
};

}  // namespace

DIOPI_API diopiError_t diopiFlashAttention(diopiContextHandle_t ctx, diopiTensorHandle_t attention_out,
                                           diopiTensorHandle_t softmax_lse, diopiGeneratorHandle_t gen,
                                           diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
                                           diopiConstTensorHandle_t v, diopiConstTensorHandle_t alibi_slopes,
                                           float p_dropout, float softmax_scale, bool is_causal,
                                           int32_t window_size_left, int32_t window_size_right) {
    return guarded("diopiFlashAttention", ctx, [&] {
        const Settings settings{p_dropout, softmax_scale, is_causal, window_size_left, window_size_right};
        const Tensor out = tensor("attention_out", attention_out, kHalves);
        const Tensor lse_tensor = tensor("softmax_lse", softmax_lse, kFloat32);
        const Operands operands(q, k, v, kHalves);
        const Tensor slopes = optional_tensor("alibi_slopes", alibi_slopes, kFloat32);
        const Problem problem = padded_problem(operands);
        const auto batch = static_cast<int64_t>(problem.sequences.size());
        const int64_t queries = operands.q.shape[1];
        require_same_dtype(out, operands.q);
        require_same_shape(out, operands.q);
        require_shape(lse_tensor, {batch, problem.heads, queries});
        require_slopes(slopes, batch, problem.heads, kSlopeShape);
        settings.check();
        require_separate({&out, &lse_tensor}, {&operands.q, &operands.k, &operands.v, &slopes});
        const Draws draws(gen, static_cast<double>(p_dropout));
        Scoring scoring = settings.scoring(draws);
        const Input<float> slope_values(slopes);
        set_slopes(scoring, slopes, slope_values);
        const Output<float> lse(lse_tensor);
        forward_with_lse(problem, scoring, operands, out, lse.data(), queries);
        lse.store();
        draws.advance();
    });
}

DIOPI_API diopiError_t diopiFlashAttentionBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_q, diopiTensorHandle_t grad_k, diopiTensorHandle_t grad_v,
    diopiConstTensorHandle_t grad_output, diopiGeneratorHandle_t gen, diopiConstTensorHandle_t q,
    diopiConstTensorHandle_t k, diopiConstTensorHandle_t v, diopiConstTensorHandle_t alibi_slopes,
    diopiConstTensorHandle_t attention_out, diopiConstTensorHandle_t softmax_lse, float p_dropout, float softmax_scale,
    bool is_causal, int32_t window_size_left, int32_t window_size_right) {
    return guarded("diopiFlashAttentionBackward", ctx, [&] {
        const Settings settings{p_dropout, softmax_scale, is_causal, window_size_left, window_size_right};
        const Operands operands(q, k, v, kHalves);
        const GradientTensors tensors(operands, tensor("grad_q", grad_q, kHalves), tensor("grad_k", grad_k, kHalves),
                                      tensor("grad_v", grad_v, kHalves),
                                      tensor("attention_out", attention_out, kHalves),
                                      tensor("grad_output", grad_output, kHalves));
        const Tensor slopes = optional_tensor("alibi_slopes", alibi_slopes, kFloat32);
        const Tensor lse = tensor("softmax_lse", softmax_lse, kFloat32);
        const Problem problem = padded_problem(operands);
        const auto batch = static_cast<int64_t>(problem.sequences.size());
        const int64_t queries = operands.q.shape[1];
        require_shape(lse, {batch, problem.heads, queries});
        require_slopes(slopes, batch, problem.heads, kSlopeShape);
        settings.check();
        require_separate({&tensors.q, &tensors.k, &tensors.v},
                         {&operands.q, &operands.k, &operands.v, &tensors.out, &tensors.grad_out, &slopes, &lse});
        const Draws draws(gen, static_cast<double>(p_dropout));
        Scoring scoring = settings.scoring(draws);
        const Input<float> slope_values(slopes);
        set_slopes(scoring, slopes, slope_values);
        backward_from_lse(problem, scoring, operands, tensors, lse, queries);
        draws.advance();
    });
}

DIOPI_API diopiError_t diopiFlashAttentionVarLen(diopiContextHandle_t ctx, diopiTensorHandle_t attention_out,
                                                 diopiTensorHandle_t softmax_lse, diopiGeneratorHandle_t gen,
                                                 diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
                                                 diopiConstTensorHandle_t v, diopiConstTensorHandle_t cum_seq_q,
                                                 diopiConstTensorHandle_t cum_seq_kv,
                                                 diopiConstTensorHandle_t alibi_slopes, int32_t max_seqlen_q,
                                                 int32_t max_seqlen_kv, float p_dropout, float softmax_scale,
                                                 bool is_causal, int32_t window_size_left, int32_t window_size_right) {
    return guarded("diopiFlashAttentionVarLen", ctx, [&] {
        const Settings settings{p_dropout, softmax_scale, is_causal, window_size_left, window_size_right};
        const Tensor out = tensor("attention_out", attention_out, kHalves);
        const Tensor lse_tensor = tensor("softmax_lse", softmax_lse, kFloat32);
        const Operands operands(q, k, v, kHalves);
        const Starts starts(cum_seq_q, cum_seq_kv);
        const Tensor slopes = optional_tensor("alibi_slopes", alibi_slopes, kFloat32);
        const Problem problem = starts.problem(operands, max_seqlen_q, max_seqlen_kv);
        const auto batch = static_cast<int64_t>(problem.sequences.size());
        require_same_dtype(out, operands.q);
        require_same_shape(out, operands.q);
        require_shape(lse_tensor, {batch, problem.heads, max_seqlen_q});
        require_slopes(slopes, batch, problem.heads, "C5: alibi_slopes has the shape [heads] or [batch, heads]");
        settings.check();
        require_separate({&out, &lse_tensor}, {&operands.q, &operands.k, &operands.v, &slopes, &starts.q, &starts.kv});
        const Draws draws(gen, static_cast<double>(p_dropout));
        Scoring scoring = settings.scoring(draws);
        const Input<float> slope_values(slopes);
        set_slopes(scoring, slopes, slope_values);
        const Changed lse(lse_tensor, Dtype::kFloat32);
        forward_with_lse(problem, scoring, operands, out, lse.as<float>(), max_seqlen_q);
        lse.store();
        draws.advance();
    });
}

DIOPI_API diopiError_t diopiFlashAttentionVarLenBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_q, diopiTensorHandle_t grad_k, diopiTensorHandle_t grad_v,
    diopiConstTensorHandle_t grad_output, diopiGeneratorHandle_t gen, diopiConstTensorHandle_t q,
    diopiConstTensorHandle_t k, diopiConstTensorHandle_t v, diopiConstTensorHandle_t cum_seq_q,
    diopiConstTensorHandle_t cum_seq_kv, diopiConstTensorHandle_t alibi_slopes, diopiConstTensorHandle_t attention_out,
    diopiConstTensorHandle_t softmax_lse, int32_t max_seqlen_q, int32_t max_seqlen_kv, float p_dropout,
    float softmax_scale, bool is_causal, int32_t window_size_left, int32_t window_size_right) {
    return guarded("diopiFlashAttentionVarLenBackward", ctx, [&] {
        const Settings settings{p_dropout, softmax_scale, is_causal, window_size_left, window_size_right};
        const Operands operands(q, k, v, kHalves);
        const GradientTensors tensors(operands, tensor("grad_q", grad_q, kHalves), tensor("grad_k", grad_k, kHalves),
                                      tensor("grad_v", grad_v, kHalves),
                                      tensor("attention_out", attention_out, kHalves),
                                      tensor("grad_output", grad_output, kHalves));
        const Starts starts(cum_seq_q, cum_seq_kv);
        const Tensor slopes = optional_tensor("alibi_slopes", alibi_slopes, kFloat32);
        const Tensor lse = tensor("softmax_lse", softmax_lse, kFloat32);
        const Problem problem = starts.problem(operands, max_seqlen_q, max_seqlen_kv);
        const auto batch = static_cast<int64_t>(problem.sequences.size());
        require_shape(lse, {batch, problem.heads, max_seqlen_q});
        require_slopes(slopes, batch, problem.heads, "C5: alibi_slopes has the shape [heads] or [batch, heads]");
        settings.check();
        require_separate({&tensors.q, &tensors.k, &tensors.v},
                         {&operands.q, &operands.k, &operands.v, &tensors.out, &tensors.grad_out, &slopes, &lse,
                          &starts.q, &starts.kv});
        const Draws draws(gen, static_cast<double>(p_dropout));
        Scoring scoring = settings.scoring(draws);
        const Input<float> slope_values(slopes);
        set_slopes(scoring, slopes, slope_values);
        backward_from_lse(problem, scoring, operands, tensors, lse, max_seqlen_q);
        draws.advance();
    });
}
