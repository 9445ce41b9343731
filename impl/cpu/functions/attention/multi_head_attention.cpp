// MultiHeadAttention and its form for joined sequences, with their gradients: causal masks and dropout only.
#include <diopi/functions_ext.h>

#include "flash_attention.h"

using namespace diopi::cpu;
using namespace diopi::cpu::attention;

namespace {

constexpr DtypeSet kDtypes = kHalves | kFloat32;

Scoring scoring_of(double scale, bool is_causal, const Draws& draws) {
    Scoring scoring;
    scoring.scale = scale;
    set_window(scoring, is_causal, -1, -1);
    scoring.dropout = draws.dropout();
    return scoring;
}

void check(double dropout_p, bool return_debug_mask, const Tensor& debug_mask) {
    require_probability(dropout_p, "dropout_p.range: dropout_p is at least 0 and below 1");
    require(!return_debug_mask || !debug_mask.is_null(),
            "C3: debug_attn_mask is not null where return_debug_mask is true");
}

struct Starts {
    Tensor q;
    Tensor k;

    Starts(diopiConstTensorHandle_t cum_seq_q, diopiConstTensorHandle_t cum_seq_k)
        : q(tensor("cum_seq_q", cum_seq_q, kIndex)), k(tensor("cum_seq_k", cum_seq_k, kIndex)) {
        require_rank(q, 1, 1);
        require_same_dtype(k, q);
        require_same_shape(k, q);
    }
    Problem problem(const Operands& operands, int64_t max_q, int64_t max_k) const {
        require_rank(operands.q, 3, 3);
        require_rank(operands.k, 3, 3);
        return joined_problem(operands, ends_from_starts(q, operands.q.shape[0], max_q),
                              ends_from_starts(k, operands.k.shape[0], max_k));
    }
};

}  // namespace

DIOPI_API diopiError_t diopiMultiHeadAttention(diopiContextHandle_t ctx, diopiTensorHandle_t q, diopiTensorHandle_t k,
                                               diopiTensorHandle_t v, double dropout_p, bool is_causal,
                                               bool return_debug_mask, double scale, diopiTensorHandle_t out,
                                               diopiTensorHandle_t softmax_lse, diopiGeneratorHandle_t gen,
                                               diopiTensorHandle_t debug_attn_mask) {
    return guarded("diopiMultiHeadAttention", ctx, [&] {
        const Operands operands(q, k, v, kDtypes);
        const Tensor out_tensor = tensor("out", out, kDtypes);
        const Tensor lse_tensor = tensor("softmax_lse", softmax_lse, kFloat32);
        const Tensor mask_tensor = optional_tensor("debug_attn_mask", debug_attn_mask, kBool);
        const Problem problem = padded_problem(operands);
        const auto batch = static_cast<int64_t>(problem.sequences.size());
        const int64_t queries = operands.q.shape[1];
        const int64_t keys = operands.k.shape[1];
        require_same_dtype(out_tensor, operands.q);
        require_same_shape(out_tensor, operands.q);
        require_shape(lse_tensor, {batch, problem.heads, queries});
        if (!mask_tensor.is_null()) {
            require_shape(mask_tensor, {batch, problem.heads, queries, keys});
        }
        check(dropout_p, return_debug_mask, mask_tensor);
        require_separate({&out_tensor, &lse_tensor, &mask_tensor}, {&operands.q, &operands.k, &operands.v});
        const Draws draws(gen, dropout_p);
        const Output<float> lse(lse_tensor);
        forward_with_lse(problem, scoring_of(scale, is_causal, draws), operands, out_tensor, lse.data(), queries);
        lse.store();
        if (return_debug_mask) {
            const Output<Bool> mask(mask_tensor);
            record_dropout(problem, draws.dropout(), mask.data(), queries, keys);
            mask.store();
        }
        draws.advance();
    });
}

DIOPI_API diopiError_t diopiMultiHeadAttentionBackward(diopiContextHandle_t ctx, diopiConstTensorHandle_t grad_out,
                                                       diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
                                                       diopiConstTensorHandle_t v, diopiConstTensorHandle_t out,
                                                       diopiConstTensorHandle_t softmax_lse, double dropout_p,
                                                       bool is_causal, diopiGeneratorHandle_t gen, double scale,
                                                       diopiTensorHandle_t grad_q, diopiTensorHandle_t grad_k,
                                                       diopiTensorHandle_t grad_v) {
    return guarded("diopiMultiHeadAttentionBackward", ctx, [&] {
        const Operands operands(q, k, v, kDtypes);
        const GradientTensors tensors(operands, tensor("grad_q", grad_q, kDtypes), tensor("grad_k", grad_k, kDtypes),
                                      tensor("grad_v", grad_v, kDtypes), tensor("out", out, kDtypes),
                                      tensor("grad_out", grad_out, kDtypes));
        const Tensor lse = tensor("softmax_lse", softmax_lse, kFloat32);
        const Problem problem = padded_problem(operands);
        const int64_t queries = operands.q.shape[1];
        require_shape(lse, {operands.q.shape[0], problem.heads, queries});
        require_probability(dropout_p, "dropout_p.range: dropout_p is at least 0 and below 1");
        require_separate({&tensors.q, &tensors.k, &tensors.v},
                         {&operands.q, &operands.k, &operands.v, &tensors.out, &tensors.grad_out, &lse});
        const Draws draws(gen, dropout_p);
        backward_from_lse(problem, scoring_of(scale, is_causal, draws), operands, tensors, lse, queries);
        draws.advance();
    });
}

DIOPI_API diopiError_t diopiMultiHeadAttentionVarLen(
    diopiContextHandle_t ctx, diopiTensorHandle_t q, diopiTensorHandle_t k, diopiTensorHandle_t v,
    diopiConstTensorHandle_t cum_seq_q, diopiConstTensorHandle_t cum_seq_k, int64_t max_q, int64_t max_k,
    double dropout_p, bool is_causal, bool return_debug_mask, double scale, diopiTensorHandle_t out,
    diopiTensorHandle_t softmax_lse, diopiGeneratorHandle_t gen, diopiTensorHandle_t debug_attn_mask) {
    return guarded("diopiMultiHeadAttentionVarLen", ctx, [&] {
        const Operands operands(q, k, v, kDtypes);
        const Starts starts(cum_seq_q, cum_seq_k);
        const Tensor out_tensor = tensor("out", out, kDtypes);
        const Tensor lse_tensor = tensor("softmax_lse", softmax_lse, kFloat32);
        const Tensor mask_tensor = optional_tensor("debug_attn_mask", debug_attn_mask, kBool);
        const Problem problem = starts.problem(operands, max_q, max_k);
        const auto batch = static_cast<int64_t>(problem.sequences.size());
        require_same_dtype(out_tensor, operands.q);
        require_same_shape(out_tensor, operands.q);
        require_shape(lse_tensor, {batch, problem.heads, max_q});
        if (!mask_tensor.is_null()) {
            require_shape(mask_tensor, {batch, problem.heads, max_q, max_k});
        }
        check(dropout_p, return_debug_mask, mask_tensor);
        require_separate({&out_tensor, &lse_tensor, &mask_tensor},
                         {&operands.q, &operands.k, &operands.v, &starts.q, &starts.k});
        const Draws draws(gen, dropout_p);
        const Changed lse(lse_tensor, Dtype::kFloat32);
        const Scoring scoring = scoring_of(scale, is_causal, draws);
        forward_with_lse(problem, scoring, operands, out_tensor, lse.as<float>(), max_q);
        lse.store();
        if (return_debug_mask) {
            const Changed mask(mask_tensor, Dtype::kBool);
            record_dropout(problem, draws.dropout(), mask.as<Bool>(), max_q, max_k);
            mask.store();
        }
        draws.advance();
    });
}

DIOPI_API diopiError_t diopiMultiHeadAttentionVarLenBackward(
    diopiContextHandle_t ctx, diopiConstTensorHandle_t grad_out, diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
    diopiConstTensorHandle_t v, diopiConstTensorHandle_t out, diopiConstTensorHandle_t softmax_lse,
    diopiConstTensorHandle_t cum_seq_q, diopiConstTensorHandle_t cum_seq_k, int64_t max_q, int64_t max_k,
    double dropout_p, bool is_causal, diopiGeneratorHandle_t gen, double scale, diopiTensorHandle_t grad_q,
    diopiTensorHandle_t grad_k, diopiTensorHandle_t grad_v) {
    return guarded("diopiMultiHeadAttentionVarLenBackward", ctx, [&] {
        const Operands operands(q, k, v, kDtypes);
        const GradientTensors tensors(operands, tensor("grad_q", grad_q, kDtypes), tensor("grad_k", grad_k, kDtypes),
                                      tensor("grad_v", grad_v, kDtypes), tensor("out", out, kDtypes),
                                      tensor("grad_out", grad_out, kDtypes));
        const Tensor lse = tensor("softmax_lse", softmax_lse, kFloat32);
        const Starts starts(cum_seq_q, cum_seq_k);
        const Problem problem = starts.problem(operands, max_q, max_k);
        require_shape(lse, {static_cast<int64_t>(problem.sequences.size()), problem.heads, max_q});
        require_probability(dropout_p, "dropout_p.range: dropout_p is at least 0 and below 1");
        require_separate({&tensors.q, &tensors.k, &tensors.v}, {&operands.q, &operands.k, &operands.v, &tensors.out,
                                                                &tensors.grad_out, &lse, &starts.q, &starts.k});
        const Draws draws(gen, dropout_p);
        backward_from_lse(problem, scoring_of(scale, is_causal, draws), operands, tensors, lse, max_q);
        draws.advance();
    });
}
