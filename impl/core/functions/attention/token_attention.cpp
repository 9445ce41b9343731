// The steps of decoding with a cache of slots, one per token: copying into it, scores of one new query per sequence,
// softmax and the sum of values; and causal attention over joined prompts.
#include <cmath>

#include "attention.h"
#include "attention_kernels.h"
#include "decoding.h"

using namespace diopigen::core;
using namespace diopigen::core::attention;

namespace {

// Reads the tables of a cache with `slot_count` slots, whose scores are one of `columns`. `fits` is the constraint on
// their entries.
template <typename Args>
Cached cached_of(const Args& args, int64_t slot_count, int64_t columns, const char* fits) {
    const int64_t width = args.b_loc.shape[1];
    const std::vector<int64_t> table = indices(args.b_loc);
    Cached cached{indices(args.b_start_loc), indices(args.b_seq_len), {}, {}};
    for (size_t b = 0; b < cached.starts.size(); ++b) {
        const int64_t length = cached.lengths[b];
        require(length >= 0 && length <= args.max_input_len && cached.starts[b] >= 0 &&
                    cached.starts[b] <= columns - length,
                fits);
        cached.first.push_back(static_cast<int64_t>(cached.slots.size()));
        for (int64_t j = args.max_input_len - length; j < args.max_input_len; ++j) {
            const int64_t slot = table[b * static_cast<size_t>(width) + static_cast<size_t>(j)];
            require(slot >= 0 && slot < slot_count, fits);
            cached.slots.push_back(slot);
        }
    }
    return cached;
}

}  // namespace

void diopigen::entry::dest_index_copy_kv(const DestIndexCopyKVArgs& args) {
    require_separate({&args.out}, {&args.k, &args.dest_loc});
    const std::vector<int64_t> slots = indices(args.dest_loc);
    for (const int64_t slot : slots) {
        require(slot >= 0 && slot < args.out.shape[0],
                "C2: every entry of dest_loc is at least 0 and below the number of slots");
    }
    copy_to_slots(args.out, args.k, slots);
}

void diopigen::entry::token_attention_inference(const TokenAttentionInferenceArgs& args) {
    const Tensor& out = args.token_attention_out;
    require_separate({&out}, {&args.q, &args.k, &args.b_loc, &args.b_start_loc, &args.b_seq_len});
    score_tokens(out, args.q, args.k,
                 cached_of(args, args.k.shape[0], out.shape[1],
                           "C3: the slots are in the cache and every sequence fits into token_attention_out"));
}

void diopigen::entry::token_softmax_reduce_v_inference(const TokenSoftmaxReduceVInferenceArgs& args) {
    require_separate({&args.out}, {&args.logics, &args.v, &args.b_loc, &args.b_start_loc, &args.b_seq_len});
    sum_tokens(args.out, args.logics, args.v,
               cached_of(args, args.v.shape[0], args.logics.shape[1],
                         "C3: the slots are in the cache and the scores of every sequence in logics"));
}

void diopigen::entry::context_attention_inference(const ContextAttentionInferenceArgs& args) {
    require_separate({&args.context_attention_out}, {&args.q, &args.k, &args.v, &args.b_start_loc, &args.b_seq_len});
    const std::vector<int64_t> starts = indices(args.b_start_loc);
    const std::vector<int64_t> lengths = indices(args.b_seq_len);
    const int64_t rows = args.q.shape[0];
    const int64_t size = args.q.shape[2];
    require_countable({rows, args.q.shape[1], size});
    const int64_t width = args.q.shape[1] * size;
    Problem problem;
    problem.heads = args.q.shape[1];
    problem.kv_heads = problem.heads;
    problem.size = size;
    problem.query_rows = {width, size};
    problem.key_rows = problem.query_rows;
    for (size_t b = 0; b < starts.size(); ++b) {
        const int64_t length = lengths[b];
        require(length >= 0 && length <= args.max_input_len && starts[b] >= 0 && length <= rows &&
                    starts[b] <= rows - length,
                "C1: the rows of every sequence are in q and none is longer than max_input_len");
        problem.sequences.push_back({length, length, starts[b] * width, starts[b] * width});
    }
    number_rows(problem);
    Scoring scoring;
    scoring.scale = 1 / std::sqrt(static_cast<double>(size));
    set_window(scoring, true, -1, -1);
    attend(problem, scoring, args.context_attention_out, {args.q, args.k, args.v}, Rest::kUnchanged);
}
