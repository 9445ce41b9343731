// FlashAttention and its form for joined sequences, with their gradients: linear bias, windows, dropout.
#include "flash_attention.h"

#include "attention.h"

using namespace diopigen::core;
using namespace diopigen::core::attention;

namespace {

// The settings of a call but for the slopes.
template <typename Args>
Scoring scoring_of(const Args& args, const DropoutState& dropout_state) {
    Scoring scoring;
    scoring.scale = static_cast<double>(args.softmax_scale);
    set_window(scoring, args.is_causal, args.window_size_left, args.window_size_right);
    scoring.dropout = dropout_state.dropout();
    return scoring;
}

template <typename Args>
Problem joined(const Args& args) {
    const Starts starts{args.cum_seq_q,
                        args.cum_seq_kv,
                        args.max_seqlen_q,
                        args.max_seqlen_kv,
                        "C3: cum_seq_q and cum_seq_kv start at 0, never fall, and end at total_q and total_kv",
                        "C4: no sequence has more than max_seqlen_q queries or max_seqlen_kv keys"};
    return starts.problem({args.q, args.k, args.v});
}

// `lse` takes the statistics of sequences of up to `longest` queries.
template <typename Args>
void forward(const Args& args, const Problem& problem, float* lse, int64_t longest) {
    const DropoutState dropout_state(args.gen, static_cast<double>(args.p_dropout));
    Scoring scoring = scoring_of(args, dropout_state);
    const Input<float> slopes(args.alibi_slopes);
    set_slopes(scoring, args.alibi_slopes, slopes);
    forward_with_lse(problem, scoring, {args.q, args.k, args.v}, args.attention_out, lse, longest);
    dropout_state.advance();
}

template <typename Args>
void backward(const Args& args, const Problem& problem, int64_t longest) {
    const DropoutState dropout_state(args.gen, static_cast<double>(args.p_dropout));
    Scoring scoring = scoring_of(args, dropout_state);
    const Input<float> slopes(args.alibi_slopes);
    set_slopes(scoring, args.alibi_slopes, slopes);
    backward_from_lse(problem, scoring, {args.q, args.k, args.v},
                      {args.grad_q, args.grad_k, args.grad_v, args.attention_out, args.grad_output}, args.softmax_lse,
                      longest);
    dropout_state.advance();
}

}  // namespace

void diopigen::entry::flash_attention(const FlashAttentionArgs& args) {
    require_separate({&args.attention_out, &args.softmax_lse}, {&args.q, &args.k, &args.v, &args.alibi_slopes});
    const Output<float> lse(args.softmax_lse);
    forward(args, padded_problem({args.q, args.k, args.v}), lse.data(), args.q.shape[1]);
    lse.store();
}

void diopigen::entry::flash_attention_backward(const FlashAttentionBackwardArgs& args) {
    require_separate(
        {&args.grad_q, &args.grad_k, &args.grad_v},
        {&args.q, &args.k, &args.v, &args.attention_out, &args.grad_output, &args.alibi_slopes, &args.softmax_lse});
    backward(args, padded_problem({args.q, args.k, args.v}), args.q.shape[1]);
}

void diopigen::entry::flash_attention_var_len(const FlashAttentionVarLenArgs& args) {
    require_separate({&args.attention_out, &args.softmax_lse},
                     {&args.q, &args.k, &args.v, &args.alibi_slopes, &args.cum_seq_q, &args.cum_seq_kv});
    const Problem problem = joined(args);
    const Changed lse(args.softmax_lse, Dtype::kFloat32);
    forward(args, problem, lse.as<float>(), args.max_seqlen_q);
    lse.store();
}

void diopigen::entry::flash_attention_var_len_backward(const FlashAttentionVarLenBackwardArgs& args) {
    require_separate({&args.grad_q, &args.grad_k, &args.grad_v},
                     {&args.q, &args.k, &args.v, &args.attention_out, &args.grad_output, &args.alibi_slopes,
                      &args.softmax_lse, &args.cum_seq_q, &args.cum_seq_kv});
    backward(args, joined(args), args.max_seqlen_q);
}
