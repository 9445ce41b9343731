// FusedContextAttention and FusedDecoderAttention: the new tokens are projected, rotated and written into the caches of
// a layer, and attend to what these hold.
#include <algorithm>
#include <cmath>

#include "attention/decoding.h"
#include "diopi_core/raw_elements.h"
#include "linalg_matmul/batches.h"
#include "serving.h"
#include "serving_kernels.h"
#include "workspace.h"

using namespace diopigen::core;
using namespace diopigen::core::serving;
using diopigen::core::attention::Problem;
using diopigen::core::attention::Rest;
using diopigen::core::attention::Scoring;

namespace {

// The new tokens of a sequence: consecutive rows, the last keys that the caches hold afterwards.
struct NewTokens {
    int64_t sequence;
    int64_t first_row;
    int64_t count;
    int64_t keys;
};

template <typename Args>
Heads heads_of(const Args& args) {
    attention::require_countable({args.local_head_num, args.local_kv_head_num, args.size_per_head, args.max_seq_len});
    return {args.local_head_num, args.local_kv_head_num, args.size_per_head, args.rotary_embedding,
            static_cast<double>(args.rope_theta)};
}

void attend_to_caches(const Tensor& out, const Tensor& queries, const Tensor& keys, const Tensor& values,
                      const std::vector<NewTokens>& sequences, const Heads& heads) {
    int64_t longest = 0;
    for (const NewTokens& one : sequences) {
        longest = std::max(longest, one.keys);
    }
    // What has to be converted or copied is cut to what is read.
    const bool is_in_place = !is_half(keys.dtype) && is_contiguous(keys) && is_contiguous(values);
    const int64_t positions = is_in_place ? keys.shape[2] : longest;
    const View used_keys = narrowed(keys, 2, 0, positions);
    const View used_values = narrowed(values, 2, 0, positions);
    Problem problem;
    problem.heads = heads.queries;
    problem.kv_heads = heads.keys;
    problem.size = heads.size;
    problem.query_rows = {heads.queries * heads.size, heads.size};
    problem.key_rows = {heads.size, positions * heads.size};
    for (const NewTokens& one : sequences) {
        problem.sequences.push_back({one.count, one.keys, one.first_row * problem.query_rows.row,
                                     one.sequence * heads.keys * problem.key_rows.head});
    }
    number_rows(problem);
    Scoring scoring;
    scoring.scale = 1 / std::sqrt(static_cast<double>(heads.size));
    attention::set_window(scoring, true, -1, -1);
    attention::attend(problem, scoring, out, {queries, used_keys.tensor(), used_values.tensor()}, Rest::kUnchanged);
}

// Rows of `args.inoutput` are the new tokens, `tokens` their indices in the caches.
template <typename Args>
void run(const Args& args, const std::vector<CacheIndex>& tokens, const std::vector<NewTokens>& sequences) {
    const Tensor& x = args.inoutput;
    const Heads heads = heads_of(args);
    const Temporary projected({x.shape[0], args.qkv_weight.shape[1]}, x.dtype, x);
    const View result = as_batch(projected.tensor());
    const View rows = as_batch(x);
    const View weight = as_batch(args.qkv_weight);
    multiply_tensors(result.tensor(), rows.tensor(), weight.tensor());
    const View keys = selected(args.key_cache, 0, args.layer_id);
    const View values = selected(args.value_cache, 0, args.layer_id);
    const Temporary queries({x.shape[0], heads.queries, heads.size}, x.dtype, x);
    cache_tokens(queries.tensor(), keys.tensor(), values.tensor(), projected.tensor(), args.qkv_bias, tokens, heads);
    attend_to_caches(x, queries.tensor(), keys.tensor(), values.tensor(), sequences, heads);
}

}  // namespace

void diopigen::entry::fused_context_attention_inp(const FusedContextAttentionInpArgs& args) {
    if (asks_for_size(args.pre_work, args.pre_work_size) || asks_for_size(args.workspace, args.workspace_size)) {
        no_memory({args.pre_work_size, args.workspace_size});
        return;
    }
    attention::require_separate({&args.inoutput, &args.key_cache, &args.value_cache},
                                {&args.qkv_weight, &args.qkv_bias});
    const int64_t batch = args.key_cache.shape[1];
    std::vector<CacheIndex> tokens;
    std::vector<NewTokens> sequences;
    for (int64_t b = 0; b < batch; ++b) {
        sequences.push_back({b, b * args.max_q_len, args.max_q_len, args.max_kv_len});
        for (int64_t i = args.max_kv_len - args.max_q_len; i < args.max_kv_len; ++i) {
            tokens.push_back({b, i});
        }
    }
    run(args, tokens, sequences);
}

void diopigen::entry::fused_decoder_attention_inp(const FusedDecoderAttentionInpArgs& args) {
    if (asks_for_size(args.workspace, args.workspace_size)) {
        no_memory({args.workspace_size});
        return;
    }
    attention::require_separate({&args.inoutput, &args.key_cache, &args.value_cache},
                                {&args.qkv_weight, &args.qkv_bias});
    const int64_t batch = args.inoutput.shape[0];
    const std::vector<int64_t> lengths = attention::indices(args.sequence_lengths);
    const std::vector<int64_t> padding = attention::indices(args.total_padding_tokens);
    std::vector<int64_t> finished(static_cast<size_t>(batch), 0);
    if (!args.finished.is_null()) {
        finished = attention::indices(args.finished);
    }
    std::vector<CacheIndex> tokens;
    std::vector<NewTokens> sequences;
    for (int64_t b = 0; b < batch; ++b) {
        const auto at = static_cast<size_t>(b);
        if (finished[at] != 0) {
            tokens.push_back({-1, 0});
            continue;
        }
        require(lengths[at] == args.step - 1 - padding[at] && lengths[at] >= 0 && lengths[at] < args.max_seq_len,
                "C4: sequence_lengths is step - 1 - total_padding_tokens, at least 0 and below max_seq_len");
        tokens.push_back({b, lengths[at]});
        sequences.push_back({b, b, 1, lengths[at] + 1});
    }
    run(args, tokens, sequences);
}
