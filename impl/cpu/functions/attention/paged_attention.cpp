// PagedAttention and PromptFlashAttention: serving with factor 1 / sqrt(dim) and lengths that the host knows.
#include <diopi/functions_ext.h>

#include <cmath>

#include "decoding.h"

using namespace diopi::cpu;
using namespace diopi::cpu::attention;

namespace {

constexpr DtypeSet kDtypes = kHalves | kFloat32;

// Heads that lie side by side, and no sequences yet.
Problem serving_problem(int64_t num_heads, int64_t num_kv_heads, int64_t dim) {
    require(num_heads > 0 && num_kv_heads > 0 && num_heads % num_kv_heads == 0, "C1: num_kv_heads divides num_heads");
    require(dim > 0, "C6: dim is at least 1");
    Problem problem;
    problem.heads = num_heads;
    problem.kv_heads = num_kv_heads;
    problem.size = dim;
    problem.query_rows = {num_heads * dim, dim};
    problem.key_rows = {num_kv_heads * dim, dim};
    return problem;
}

Scoring serving_scoring(int64_t dim) {
    Scoring scoring;
    scoring.scale = 1 / std::sqrt(static_cast<double>(dim));
    return scoring;
}

}  // namespace

DIOPI_API diopiError_t diopiPagedAttention(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                           diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
                                           diopiConstTensorHandle_t v, diopiConstTensorHandle_t attenMask,
                                           diopiSize_t actual_seq_lengths, int64_t num_heads, int64_t num_kv_heads,
                                           int64_t dim, diopiConstTensorHandle_t block_table, int64_t block_size) {
    return guarded("diopiPagedAttention", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kDtypes);
        const Operands operands(q, k, v, kDtypes);
        const Tensor mask = optional_tensor("attenMask", attenMask, kBool);
        const Tensor table_tensor = tensor("block_table", block_table, kIndex);
        const diopiSize_t lengths = require_sizes("actual_seq_lengths", actual_seq_lengths);
        Problem problem = serving_problem(num_heads, num_kv_heads, dim);
        require_same_dtype(out_tensor, operands.q);
        require_same_shape(out_tensor, operands.q);
        require_rank(operands.q, 1);
        require_rank(operands.k, 2);
        require_rank(table_tensor, 2, 2);
        const int64_t batch = operands.q.shape[0];
        const int64_t pages = operands.k.shape[0];
        require(operands.k.shape[1] == block_size, "parameter 'block_size' is not the number of tokens in a page of k");
        require(operands.q.numel == batch * problem.query_rows.row &&
                    operands.k.numel == pages * block_size * problem.key_rows.row,
                "C2: q holds num_heads * dim elements per sequence and k num_kv_heads * dim elements per token");
        const int64_t width = table_tensor.shape[1];
        require(table_tensor.shape[0] == batch, "parameter 'block_table' does not have one row per sequence");
        const char* wrong_lengths = "actual_seq_lengths has B entries, every one at least 0 and at most N * block_size";
        require(lengths.len == batch, wrong_lengths);
        const std::vector<int64_t> table = indices(table_tensor);
        std::vector<int64_t> rows;
        int64_t longest = 0;
        for (int64_t b = 0; b < batch; ++b) {
            const int64_t length = lengths.data[b];
            require(length >= 0 && length <= width * block_size, wrong_lengths);
            longest = std::max(longest, length);
            problem.sequences.push_back(
                {1, length, b * problem.query_rows.row, static_cast<int64_t>(rows.size()) * problem.key_rows.row});
            for (int64_t j = 0; j < length; ++j) {
                const int64_t page = table[static_cast<size_t>(b * width + j / block_size)];
                require(page >= 0 && page < pages, "C4: every page of block_table that is read lies in the cache");
                rows.push_back(page * block_size + j % block_size);
            }
        }
        Scoring scoring = serving_scoring(dim);
        set_mask(scoring, mask, {batch, num_heads, 1, longest},
                 "C5: attenMask broadcasts to [batch, num_heads, 1, longest sequence]");
        require_separate({&out_tensor}, {&operands.q, &operands.k, &operands.v, &mask, &table_tensor});
        number_rows(problem);
        attend_to_rows(problem, scoring, out_tensor, operands, rows);
    });
}

DIOPI_API diopiError_t diopiPromptFlashAttention(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                                 diopiConstTensorHandle_t query, diopiConstTensorHandle_t key,
                                                 diopiConstTensorHandle_t value, diopiConstTensorHandle_t atten_mask,
                                                 diopiSize_t actual_seq_lengths, int64_t max_input_len,
                                                 int64_t num_heads, int64_t num_kv_heads, int64_t dim) {
    return guarded("diopiPromptFlashAttention", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kDtypes);
        const Operands operands(tensor("query", query, kDtypes), tensor("key", key, kDtypes),
                                tensor("value", value, kDtypes));
        const Tensor mask = optional_tensor("atten_mask", atten_mask, kBool);
        const diopiSize_t lengths = require_sizes("actual_seq_lengths", actual_seq_lengths);
        Problem problem = serving_problem(num_heads, num_kv_heads, dim);
        require_same_dtype(out_tensor, operands.q);
        require_same_shape(out_tensor, operands.q);
        require(max_input_len >= 0, "C5: max_input_len is at least 0");
        const int64_t batch = lengths.len;
        require(operands.q.numel == batch * max_input_len * problem.query_rows.row &&
                    operands.k.numel == batch * max_input_len * problem.key_rows.row,
                "C2: query and key hold max_input_len rows of their heads for every entry of actual_seq_lengths");
        for (int64_t b = 0; b < batch; ++b) {
            const int64_t length = lengths.data[b];
            require(
                length >= 0 && length <= max_input_len,
                "actual_seq_lengths.range: every entry of actual_seq_lengths is at least 0 and at most max_input_len");
            problem.sequences.push_back(
                {length, length, b * max_input_len * problem.query_rows.row, b * max_input_len * problem.key_rows.row});
        }
        Scoring scoring = serving_scoring(dim);
        set_mask(scoring, mask, {batch, num_heads, max_input_len, max_input_len},
                 "C4: atten_mask broadcasts to [batch, num_heads, max_input_len, max_input_len]");
        require_separate({&out_tensor}, {&operands.q, &operands.k, &operands.v, &mask});
        number_rows(problem);
        attend(problem, scoring, out_tensor, operands, Rest::kZero);
    });
}
