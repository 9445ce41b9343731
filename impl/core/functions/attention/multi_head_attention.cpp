// MultiHeadAttention and its form for joined sequences, with their gradients: causal masks and dropout only.
#include "attention.h"
#include "diopi_core/free_dtype.h"
#include "flash_attention.h"

using namespace diopigen::core;
using namespace diopigen::core::attention;

namespace {

// What the contract leaves free.
void require_dtypes(const Tensor& q, const Tensor& lse) {
    require_dtype_in(q, kHalves | kFloat32);
    require_dtype_in(lse, kFloat32);
}

Scoring scoring_of(double scale, bool is_causal, const DropoutState& dropout_state) {
    Scoring scoring;
    scoring.scale = scale;
    set_window(scoring, is_causal, -1, -1);
    scoring.dropout = dropout_state.dropout();
    return scoring;
}

template <typename Args>
Starts starts_of(const Args& args, const char* uneven, const char* too_long) {
    return {args.cum_seq_q, args.cum_seq_k, args.max_q, args.max_k, uneven, too_long};
}

// Gradients share memory with nothing. `longest` counts queries.
template <typename Args>
void backward(const Args& args, const Problem& problem, int64_t longest) {
    const DropoutState dropout_state(args.gen, args.dropout_p);
    backward_from_lse(problem, scoring_of(args.scale, args.is_causal, dropout_state), {args.q, args.k, args.v},
                      {args.grad_q, args.grad_k, args.grad_v, args.out, args.grad_out}, args.softmax_lse, longest);
    dropout_state.advance();
}

}  // namespace

void diopigen::entry::multi_head_attention(const MultiHeadAttentionArgs& args) {
    require_dtypes(args.q, args.softmax_lse);
    require_separate({&args.out, &args.softmax_lse, &args.debug_attn_mask}, {&args.q, &args.k, &args.v});
    const Operands operands{args.q, args.k, args.v};
    const Problem problem = padded_problem(operands);
    const int64_t queries = args.q.shape[1];
    const DropoutState dropout_state(args.gen, args.dropout_p);
    const Output<float> lse(args.softmax_lse);
    forward_with_lse(problem, scoring_of(args.scale, args.is_causal, dropout_state), operands, args.out, lse.data(),
                     queries);
    lse.store();
    if (args.return_debug_mask) {
        const Output<Bool> mask(args.debug_attn_mask);
        record_dropout(problem, dropout_state.dropout(), mask.data(), queries, args.k.shape[1]);
        mask.store();
    }
    dropout_state.advance();
}

void diopigen::entry::multi_head_attention_backward(const MultiHeadAttentionBackwardArgs& args) {
    require_dtypes(args.q, args.softmax_lse);
    require_separate({&args.grad_q, &args.grad_k, &args.grad_v},
                     {&args.q, &args.k, &args.v, &args.out, &args.grad_out, &args.softmax_lse});
    backward(args, padded_problem({args.q, args.k, args.v}), args.q.shape[1]);
}

void diopigen::entry::multi_head_attention_var_len(const MultiHeadAttentionVarLenArgs& args) {
    require_dtypes(args.q, args.softmax_lse);
    require_separate({&args.out, &args.softmax_lse, &args.debug_attn_mask},
                     {&args.q, &args.k, &args.v, &args.cum_seq_q, &args.cum_seq_k});
    const Operands operands{args.q, args.k, args.v};
    const Problem problem =
        starts_of(args, "C4: cum_seq_q and cum_seq_k start at 0, never fall, and end at total_q and total_k",
                  "C5: no sequence has more than max_q queries or max_k keys")
            .problem(operands);
    const DropoutState dropout_state(args.gen, args.dropout_p);
    const Changed lse(args.softmax_lse, Dtype::kFloat32);
    forward_with_lse(problem, scoring_of(args.scale, args.is_causal, dropout_state), operands, args.out,
                     lse.as<float>(), args.max_q);
    lse.store();
    if (args.return_debug_mask) {
        const Changed mask(args.debug_attn_mask, Dtype::kBool);
        record_dropout(problem, dropout_state.dropout(), mask.as<Bool>(), args.max_q, args.max_k);
        mask.store();
    }
    dropout_state.advance();
}

void diopigen::entry::multi_head_attention_var_len_backward(const MultiHeadAttentionVarLenBackwardArgs& args) {
    require_dtypes(args.q, args.softmax_lse);
    require_separate({&args.grad_q, &args.grad_k, &args.grad_v}, {&args.q, &args.k, &args.v, &args.out, &args.grad_out,
                                                                  &args.softmax_lse, &args.cum_seq_q, &args.cum_seq_k});
    const Problem problem =
        starts_of(args, "C3: cum_seq_q and cum_seq_k start at 0, never fall, and end at total_q and total_k",
                  "C4: no sequence has more than max_q queries or max_k keys")
            .problem({args.q, args.k, args.v});
    backward(args, problem, args.max_q);
}
