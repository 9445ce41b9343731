// PagedAttention and PromptFlashAttention: serving with factor 1 / sqrt(dim) and lengths that the host knows.
#include <cmath>
#include <utility>

#include "attention.h"
#include "decoding.h"

using namespace diopigen::core;
using namespace diopigen::core::attention;

namespace {

// Contiguous heads, and no sequences yet.
template <typename Args>
Problem serving_problem(const Args& args) {
    require_countable({args.num_heads, args.num_kv_heads, args.dim});
    Problem problem;
    problem.heads = args.num_heads;
    problem.kv_heads = args.num_kv_heads;
    problem.size = args.dim;
    problem.query_rows = {args.num_heads * args.dim, args.dim};
    problem.key_rows = {args.num_kv_heads * args.dim, args.dim};
    return problem;
}

Scoring serving_scoring(int64_t dim, const Tensor& mask) {
    Scoring scoring;
    scoring.scale = 1 / std::sqrt(static_cast<double>(dim));
    set_mask(scoring, mask);
    return scoring;
}

}  // namespace

void diopigen::entry::paged_attention(const PagedAttentionArgs& args) {
    require_separate({&args.out}, {&args.q, &args.k, &args.v, &args.attenMask, &args.block_table});
    Problem problem = serving_problem(args);
    const int64_t slots = args.k.numel / problem.key_rows.row;
    const int64_t width = args.block_table.shape[1];
    const std::vector<int64_t> table = indices(args.block_table);
    std::vector<int64_t> rows;
    for (int64_t b = 0; b < args.actual_seq_lengths.len; ++b) {
        const int64_t length = args.actual_seq_lengths.data[b];
        problem.sequences.push_back(
            {1, length, b * problem.query_rows.row, static_cast<int64_t>(rows.size()) * problem.key_rows.row});
        for (int64_t j = 0; j < length; ++j) {
            const int64_t page = table[static_cast<size_t>(b * width + j / args.block_size)];
            const int64_t offset = j % args.block_size;
            require(page >= 0 && offset < slots && page <= (slots - 1 - offset) / args.block_size,
                    "C4: every slot of block_table that is read is in the cache");
            rows.push_back(page * args.block_size + offset);
        }
    }
    number_rows(problem);
    Scoring scoring = serving_scoring(args.dim, args.attenMask);
    if (args.attenMask.rank == 2) {
        std::swap(scoring.mask_strides[0], scoring.mask_strides[2]);  // [batch, keys] instead of [queries, keys]
    }
    attend_to_rows(problem, scoring, args.out, {args.q, args.k, args.v}, rows);
}

void diopigen::entry::prompt_flash_attention(const PromptFlashAttentionArgs& args) {
    require_separate({&args.out}, {&args.query, &args.key, &args.value, &args.atten_mask});
    Problem problem = serving_problem(args);
    for (int64_t b = 0; b < args.actual_seq_lengths.len; ++b) {
        const int64_t length = args.actual_seq_lengths.data[b];
        const int64_t row = b * args.max_input_len;
        problem.sequences.push_back({length, length, row * problem.query_rows.row, row * problem.key_rows.row});
    }
    number_rows(problem);
    Tensor mask = args.atten_mask;
    std::optional<View> of_batch;
    if (mask.rank == 3) {
        // [batch, queries, keys]: one for all heads.
        of_batch.emplace(mask, std::vector<int64_t>{mask.shape[0], 1, mask.shape[1], mask.shape[2]},
                         std::vector<int64_t>{mask.strides[0], 0, mask.strides[1], mask.strides[2]});
        mask = of_batch->tensor();
    }
    attend(problem, serving_scoring(args.dim, mask), args.out, {args.query, args.key, args.value}, Rest::kZero);
}
