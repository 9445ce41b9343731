// The steps of decoding with a cache of slots, one per token: copying into it, scores of one new query per sequence,
// softmax and the sum of values; and causal attention over joined prompts.
#include <diopi/functions_ext.h>

#include <cmath>

#include "decoding.h"
#include "kernels.h"

using namespace diopi::cpu;
using namespace diopi::cpu::attention;

namespace {

struct CacheTables {
    Tensor slots;
    Tensor starts;
    Tensor lengths;

    CacheTables(diopiConstTensorHandle_t b_loc, diopiConstTensorHandle_t b_start_loc,
                diopiConstTensorHandle_t b_seq_len)
        : slots(tensor("b_loc", b_loc, kIndex)),
          starts(tensor("b_start_loc", b_start_loc, kIndex)),
          lengths(tensor("b_seq_len", b_seq_len, kIndex)) {}

    // Reads the tables of `batch` sequences; slots must be below `slot_count` and columns below `columns`.
    Cached read(int64_t batch, int64_t max_input_len, int64_t slot_count, int64_t columns) const {
        require_rank(slots, 2, 2);
        require_shape(starts, {batch});
        require_shape(lengths, {batch});
        require(slots.shape[0] == batch, "parameter 'b_loc' does not have one row per sequence");
        const int64_t width = slots.shape[1];
        require(max_input_len >= 0 && max_input_len <= width,
                "max_input_len.range: max_input_len is at least 0 and at most L");
        const std::vector<int64_t> table = indices(slots);
        Cached cached{indices(starts), indices(lengths), {}, {}};
        for (int64_t b = 0; b < batch; ++b) {
            const auto at = static_cast<size_t>(b);
            const int64_t length = cached.lengths[at];
            require(length >= 0 && length <= max_input_len,
                    "C3: parameter 'b_seq_len' has a length below 0 or above max_input_len");
            require(cached.starts[at] >= 0 && cached.starts[at] <= columns - length,
                    "C3: the scores of every sequence of 'b_start_loc' fit into their tensor");
            cached.first.push_back(static_cast<int64_t>(cached.slots.size()));
            for (int64_t j = max_input_len - length; j < max_input_len; ++j) {
                const int64_t slot = table[static_cast<size_t>(b * width + j)];
                require(slot >= 0 && slot < slot_count, "C3: the slots of 'b_loc' lie in the cache");
                cached.slots.push_back(slot);
            }
        }
        return cached;
    }
};

}  // namespace

DIOPI_API diopiError_t diopiDestIndexCopyKV(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                            diopiConstTensorHandle_t k, diopiConstTensorHandle_t dest_loc) {
    return guarded("diopiDestIndexCopyKV", ctx, [&] {
        const Tensor cache = tensor("out", out, kNumber);
        const Tensor tokens = tensor("k", k, kNumber);
        const Tensor slot_tensor = tensor("dest_loc", dest_loc, kIndex);
        require_rank(tokens, 3, 3);
        require_same_dtype(cache, tokens);
        require(cache.rank == 3 && cache.shape[1] == tokens.shape[1] && cache.shape[2] == tokens.shape[2],
                "C1: out has the shape of k except for its first dimension");
        require_shape(slot_tensor, {tokens.shape[0]});
        require_separate({&cache}, {&tokens, &slot_tensor});
        const std::vector<int64_t> slots = indices(slot_tensor);
        for (const int64_t slot : slots) {
            require(slot >= 0 && slot < cache.shape[0],
                    "C2: every entry of dest_loc is at least 0 and below the number of slots");
        }
        copy_to_slots(cache, tokens, slots);
    });
}

DIOPI_API diopiError_t diopiTokenAttentionInference(diopiContextHandle_t ctx, diopiTensorHandle_t token_attention_out,
                                                    diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
                                                    diopiConstTensorHandle_t b_loc,
                                                    diopiConstTensorHandle_t b_start_loc,
                                                    diopiConstTensorHandle_t b_seq_len, int max_input_len) {
    return guarded("diopiTokenAttentionInference", ctx, [&] {
        const Tensor out = tensor("token_attention_out", token_attention_out, kFloating);
        const Tensor q_tensor = tensor("q", q, kFloating);
        const Tensor k_tensor = tensor("k", k, kFloating);
        const CacheTables tables(b_loc, b_start_loc, b_seq_len);
        require_rank(q_tensor, 3, 3);
        require_same_dtype(k_tensor, q_tensor);
        require_same_dtype(out, q_tensor);
        const int64_t batch = q_tensor.shape[0];
        const int64_t heads = q_tensor.shape[1];
        const int64_t size = q_tensor.shape[2];
        require_rank(k_tensor, 3, 3);
        require_shape(k_tensor, {k_tensor.shape[0], heads, size});
        require(out.rank == 2 && out.shape[0] == heads, "C2: token_attention_out has the shape [heads, total_tokens]");
        const Cached cached = tables.read(batch, max_input_len, k_tensor.shape[0], out.shape[1]);
        require_separate({&out}, {&q_tensor, &k_tensor, &tables.slots, &tables.starts, &tables.lengths});
        score_tokens(out, q_tensor, k_tensor, cached);
    });
}

DIOPI_API diopiError_t diopiTokenSoftmaxReduceVInference(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                                         diopiConstTensorHandle_t logics, diopiConstTensorHandle_t v,
                                                         diopiConstTensorHandle_t b_loc,
                                                         diopiConstTensorHandle_t b_start_loc,
                                                         diopiConstTensorHandle_t b_seq_len, int max_input_len,
                                                         int other_kv_index) {
    return guarded("diopiTokenSoftmaxReduceVInference", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor scores = tensor("logics", logics, kFloating);
        const Tensor v_tensor = tensor("v", v, kFloating);
        const CacheTables tables(b_loc, b_start_loc, b_seq_len);
        require_rank(scores, 2, 2);
        require_rank(v_tensor, 3, 3);
        require_rank(tables.slots, 2, 2);
        require_same_dtype(v_tensor, scores);
        require_same_dtype(out_tensor, scores);
        const int64_t batch = tables.slots.shape[0];
        const int64_t heads = scores.shape[0];
        const int64_t size = v_tensor.shape[2];
        require_shape(v_tensor, {v_tensor.shape[0], heads, size});
        require_shape(out_tensor, {batch, heads, size});
        const Cached cached = tables.read(batch, max_input_len, v_tensor.shape[0], scores.shape[1]);
        require(other_kv_index >= 0 && other_kv_index < v_tensor.shape[0],
                "other_kv_index.range: other_kv_index is at least 0 and below C");
        require_separate({&out_tensor}, {&scores, &v_tensor, &tables.slots, &tables.starts, &tables.lengths});
        sum_tokens(out_tensor, scores, v_tensor, cached);
    });
}

DIOPI_API diopiError_t diopiContextAttentionInference(diopiContextHandle_t ctx,
                                                      diopiTensorHandle_t context_attention_out,
                                                      diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
                                                      diopiConstTensorHandle_t v, diopiConstTensorHandle_t b_start_loc,
                                                      diopiConstTensorHandle_t b_seq_len, int max_input_len) {
    return guarded("diopiContextAttentionInference", ctx, [&] {
        const Tensor out_tensor = tensor("context_attention_out", context_attention_out, kFloating);
        const Operands operands(q, k, v, kFloating);
        const Tensor start_tensor = tensor("b_start_loc", b_start_loc, kIndex);
        const Tensor length_tensor = tensor("b_seq_len", b_seq_len, kIndex);
        require_rank(operands.q, 3, 3);
        require_same_shape(operands.k, operands.q);
        require_same_dtype(out_tensor, operands.q);
        require_same_shape(out_tensor, operands.q);
        require_rank(start_tensor, 1, 1);
        require_same_shape(length_tensor, start_tensor);
        require_separate({&out_tensor}, {&operands.q, &operands.k, &operands.v, &start_tensor, &length_tensor});
        const std::vector<int64_t> starts = indices(start_tensor);
        const std::vector<int64_t> lengths = indices(length_tensor);
        const int64_t size = operands.q.shape[2];
        const int64_t width = operands.q.shape[1] * size;
        Problem problem;
        problem.heads = operands.q.shape[1];
        problem.kv_heads = problem.heads;
        problem.size = size;
        problem.query_rows = {width, size};
        problem.key_rows = problem.query_rows;
        for (size_t b = 0; b < starts.size(); ++b) {
            const int64_t length = lengths[b];
            const bool fits = length >= 0 && length <= max_input_len && starts[b] >= 0 &&
                              length <= operands.q.shape[0] && starts[b] <= operands.q.shape[0] - length;
            require(fits,
                    "C1: the rows of every sequence of 'b_start_loc' lie in q and none is longer than max_input_len");
            problem.sequences.push_back({length, length, starts[b] * width, starts[b] * width});
        }
        number_rows(problem);
        Scoring scoring;
        scoring.scale = 1 / std::sqrt(static_cast<double>(size));
        set_window(scoring, true, -1, -1);
        attend(problem, scoring, out_tensor, operands, Rest::kKept);
    });
}
