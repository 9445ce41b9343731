// CustomizedFlashAttention and its form for joined sequences, with their gradients. The mask comes from the caller; the
// statistics for the gradient are tensors that the library allocates: maximum and sum of each query, one copy each, and
// one byte per probability of what survived dropout. Probabilities themselves are not saved.
#include "customized_flash_attention.h"

#include <string_view>

#include "attention.h"

using namespace diopigen::core;
using namespace diopigen::core::attention;

namespace {

// The dimensions of a layout such as BSND, and where the rows of a sequence are in memory.
class Layout {
  public:
    Layout(std::string_view letters, const Tensor& q) : letters_(letters), rank_(q.rank), batch_(q.shape[index('B')]) {}

    size_t index(char letter) const { return letters_.find(letter); }
    bool has_head_dimension() const { return rank_ == 4; }
    int64_t batch() const { return batch_; }
    // Of `heads` heads with `size` elements each, in sequences of `tokens` tokens.
    RowStrides rows(int64_t tokens, int64_t heads, int64_t size) const {
        if (has_head_dimension() && index('N') == 1) {
            return {size, tokens * size};
        }
        return {(is_token_first() ? batch_ : 1) * heads * size, size};
    }
    // The first element of a sequence.
    int64_t start(int64_t sequence, int64_t tokens, int64_t heads, int64_t size) const {
        return sequence * (is_token_first() ? 1 : tokens) * heads * size;
    }

  private:
    bool is_token_first() const { return index('S') == 0; }

    std::string_view letters_;
    int64_t rank_;
    int64_t batch_;
};

// Key heads, and the size of a head.
template <typename Args>
void set_heads(Problem& problem, const Args& args, const Layout& layout) {
    problem.heads = args.head_num;
    if (layout.has_head_dimension()) {
        problem.kv_heads = args.k.shape[layout.index('N')];
        problem.size = args.q.shape[3];
        return;
    }
    problem.size = args.q.shape[2] / problem.heads;
    require(problem.size > 0 || args.k.shape[2] == 0, "C3: the number of key heads divides head_num");
    problem.kv_heads = problem.size == 0 ? problem.heads : args.k.shape[2] / problem.size;
}

// The batch that arrays of a layout hold.
template <typename Args>
Problem problem_of_layout(const Args& args) {
    for (int64_t i = 0; i < args.q.rank; ++i) {
        require_countable({args.q.shape[i], args.k.shape[i]});
    }
    const Layout layout(args.input_layout, args.q);
    const int64_t queries = args.q.shape[layout.index('S')];
    const int64_t keys = args.k.shape[layout.index('S')];
    Problem problem;
    set_heads(problem, args, layout);
    problem.query_rows = layout.rows(queries, problem.heads, problem.size);
    problem.key_rows = layout.rows(keys, problem.kv_heads, problem.size);
    for (int64_t b = 0; b < layout.batch(); ++b) {
        problem.sequences.push_back({queries, keys, layout.start(b, queries, problem.heads, problem.size),
                                     layout.start(b, keys, problem.kv_heads, problem.size)});
    }
    number_rows(problem);
    return problem;
}

// The sequences between the rows that the host names.
template <typename Args>
Problem problem_of_ends(const Args& args) {
    const auto entries = [](diopiSize_t list) { return std::vector<int64_t>(list.data, list.data + list.len); };
    return joined_problem({args.q, args.k, args.v}, entries(args.cum_seq_q), entries(args.cum_seq_kv));
}

// A mask [rows, columns] that all sequences and heads use.
void set_common_mask(Scoring& scoring, const Tensor& mask) {
    if (!mask.is_null()) {
        scoring.mask = static_cast<const uint8_t*>(mask.data);
        scoring.mask_strides[2] = mask.strides[0];
        scoring.mask_strides[3] = mask.strides[1];
    }
}

template <typename Args>
Scoring scoring_of(const Args& args) {
    Scoring scoring;
    scoring.scale = static_cast<double>(args.softmax_scale);
    set_window(scoring, args.is_causal, args.window_size_left, args.window_size_right);
    return scoring;
}

// `shape` is that of the statistics.
template <typename Args>
void run_forward(const Args& args, const Problem& problem, Scoring scoring, const std::vector<int64_t>& shape,
                 const StatisticsLayout& layout) {
    const DropoutState dropout_state(args.gen, static_cast<double>(args.p_dropout));
    const Input<float> slopes(args.alibi_slopes);
    set_slopes(scoring, args.alibi_slopes, slopes);
    const int64_t mask_size = dropout_state.dropout().is_active() ? probability_count(problem) : 0;
    const Tensor mask = new_tensor(args.ctx, "dropout_mask", {mask_size}, Dtype::kUint8, args.q);
    const Tensor maxima = new_tensor(args.ctx, "softmax_max", shape, Dtype::kFloat32, args.q);
    const Tensor sums = new_tensor(args.ctx, "softmax_sum", shape, Dtype::kFloat32, args.q);
    const Tensor probabilities = new_tensor(args.ctx, "softmax_out", {0}, Dtype::kFloat32, args.q);
    record_mask(mask, dropout_state.dropout());
    scoring.dropout = dropout_state.dropout();
    scoring.dropout.recorded = static_cast<const uint8_t*>(mask.data);
    forward_with_statistics(problem, scoring, {args.q, args.k, args.v}, args.attention_out, maxima, sums, layout);
    dropout_state.advance();
    *args.dropout_mask = mask.handle;
    *args.softmax_max = maxima.handle;
    *args.softmax_sum = sums.handle;
    *args.softmax_out = probabilities.handle;
}

// `saved_rule` is the constraint that the tensors of the forward call come back.
template <typename Args>
void run_backward(const Args& args, const Problem& problem, Scoring scoring, const StatisticsLayout& layout,
                  const char* saved_rule) {
    require(args.p_dropout <= 0 || args.dropout_mask.numel == probability_count(problem), saved_rule);
    const Input<float> slopes(args.alibi_slopes);
    set_slopes(scoring, args.alibi_slopes, slopes);
    const Input<Uint8> recorded(args.dropout_mask);
    scoring.dropout.probability = static_cast<double>(args.p_dropout);
    scoring.dropout.recorded = reinterpret_cast<const uint8_t*>(recorded.data());
    backward_from_statistics(problem, scoring, {args.q, args.k, args.v},
                             {args.grad_q, args.grad_k, args.grad_v, args.attention_out, args.grad_output},
                             args.softmax_max, args.softmax_sum, layout);
}

template <typename Args>
void require_separate_gradients(const Args& args) {
    require_separate(
        {&args.grad_q, &args.grad_k, &args.grad_v},
        {&args.q, &args.k, &args.v, &args.attention_out, &args.grad_output, &args.alibi_slopes, &args.attention_mask,
         &args.dropout_mask, &args.softmax_max, &args.softmax_sum, &args.softmax_out});
}

template <typename Args>
int64_t queries_of(const Args& args) {
    return args.q.shape[args.input_layout.find('S')];
}

}  // namespace

void diopigen::entry::customized_flash_attention(const CustomizedFlashAttentionArgs& args) {
    require_separate({&args.attention_out}, {&args.q, &args.k, &args.v, &args.alibi_slopes, &args.attention_mask});
    const Problem problem = problem_of_layout(args);
    const auto batch = static_cast<int64_t>(problem.sequences.size());
    Scoring scoring = scoring_of(args);
    set_mask(scoring, args.attention_mask);
    run_forward(args, problem, scoring, {batch, problem.heads, queries_of(args), 1}, {false, queries_of(args)});
}

void diopigen::entry::customized_flash_attention_backward(const CustomizedFlashAttentionBackwardArgs& args) {
    require_separate_gradients(args);
    Scoring scoring = scoring_of(args);
    set_mask(scoring, args.attention_mask);
    run_backward(args, problem_of_layout(args), scoring, {false, queries_of(args)},
                 "C10: dropout_mask is that of the forward call, with one byte for each probability");
}

void diopigen::entry::customized_flash_attention_var_len(const CustomizedFlashAttentionVarLenArgs& args) {
    require_separate({&args.attention_out}, {&args.q, &args.k, &args.v, &args.alibi_slopes, &args.attention_mask});
    const Problem problem = problem_of_ends(args);
    Scoring scoring = scoring_of(args);
    set_common_mask(scoring, args.attention_mask);
    run_forward(args, problem, scoring, {args.q.shape[0], problem.heads, 1}, {true, 0});
}

void diopigen::entry::customized_flash_attention_var_len_backward(
    const CustomizedFlashAttentionVarLenBackwardArgs& args) {
    require_separate_gradients(args);
    Scoring scoring = scoring_of(args);
    set_common_mask(scoring, args.attention_mask);
    run_backward(args, problem_of_ends(args), scoring, {true, 0},
                 "C9: dropout_mask is that of the forward call, with one byte for each probability");
}
