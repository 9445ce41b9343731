// What blocks of attention have in common on the host: which heads of which sequences come at one time, and how
// products see their rows and scores.
#ifndef DIOPI_CUDA_ATTENTION_PASSES_H_
#define DIOPI_CUDA_ATTENTION_PASSES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "block_kernels.h"
#include "stack.h"

namespace diopigen::cuda {

// Dense arrays of one dtype.
struct Arrays {
    Tensor q;
    Tensor k;
    Tensor v;
};

// `raw` are those of the tensor.
inline Tensor array_of(const Tensor& tensor, const RawInput& raw) {
    return array_like(tensor, const_cast<char*>(raw.as<char>()), tensor.dtype);
}

template <typename P>
const P* elements(const Tensor& array) {
    return static_cast<const P*>(array.data);
}

inline bool is_plain(const Scoring& scoring) {
    return scoring.slopes == nullptr && scoring.mask == nullptr && !scoring.dropout.is_active();
}

// Heads with keys of `run`, whose sequences come at one time.
struct Pass {
    Run run;
    int64_t first_head;
    int64_t heads;
};

inline std::vector<Pass> passes_of(const Problem& problem, const Run& run, const Cut& cut) {
    std::vector<Pass> passes;
    for (int64_t s = 0; s < run.count; s += cut.sequences) {
        Run part = run;
        part.index += s;
        part.count = std::min(cut.sequences, run.count - s);
        part.first.query_start += s * run.query_spacing;
        part.first.key_start += s * run.key_spacing;
        part.first.query_row += s * run.first.queries;
        part.first.probability_start += s * problem.heads * run.first.queries * run.first.keys;
        for (int64_t head = 0; head < problem.kv_heads; head += cut.kv_heads) {
            passes.push_back({part, head, std::min(cut.kv_heads, problem.kv_heads - head)});
        }
    }
    return passes;
}

inline HeadRows query_rows(const Problem& problem, const Pass& pass) {
    const int64_t heads_per_kv = problem.group();
    const attention::RowStrides& strides = problem.query_rows;
    return {pass.run.first.query_start + pass.first_head * heads_per_kv * strides.head,
            pass.run.count,
            pass.run.query_spacing,
            pass.heads,
            heads_per_kv * strides.head,
            pass.run.first.queries,
            strides.row,
            heads_per_kv,
            strides.head,
            problem.size};
}

// Each row `copies` times, one after another.
inline HeadRows key_rows(const Problem& problem, const Pass& pass, int64_t copies = 1) {
    const attention::RowStrides& strides = problem.key_rows;
    return {pass.run.first.key_start + pass.first_head * strides.head,
            pass.run.count,
            pass.run.key_spacing,
            pass.heads,
            strides.head,
            pass.run.first.keys,
            strides.row,
            copies,
            0,
            problem.size};
}

// The stack of rows of an array, filled.
inline Stack read(const Tensor& array, const HeadRows& rows) {
    Stack stack(array, rows);
    stack.read(array);
    return stack;
}

// Up to `count` queries from `first` on.
inline Block block_of(const Problem& problem, const Scoring& scoring, const Pass& pass, int64_t first, int64_t count) {
    const Sequence& own = pass.run.first;
    Block block{pass.run,
                problem.heads,
                static_cast<uint32_t>(pass.first_head),
                static_cast<uint32_t>(pass.heads),
                static_cast<uint32_t>(problem.group()),
                static_cast<uint32_t>(first),
                static_cast<uint32_t>(std::min(count, own.queries - first))};
    if (block.queries > 0) {
        const Span keys = keys_of_block(scoring, own, first, first + block.queries);
        require(stride_of(keys.last - keys.first) <= INT32_MAX, "too many keys for attention");
        block.first_key = keys.first;
        block.width = static_cast<int>(keys.last - keys.first);
        block.stride = static_cast<int>(stride_of(block.width));
    }
    return block;
}

// The rows of a block in the memory of scores, each key with `parts` elements of the array's dtype.
inline View matrices(const Tensor& scores, const Block& block, int64_t parts = 1) {
    const int64_t rows = block.queries * static_cast<int64_t>(block.heads_per_kv);
    const int64_t stride = parts * block.stride;
    return View(scores, {block.run.count * block.kv_heads, rows, parts * block.width}, {rows * stride, stride, 1});
}
// The same transposed.
inline View transposed_matrices(const Tensor& scores, const Block& block, int64_t parts) {
    const int64_t rows = block.queries * static_cast<int64_t>(block.heads_per_kv);
    const int64_t stride = parts * block.stride;
    return View(scores, {block.run.count * block.kv_heads, parts * block.width, rows}, {rows * stride, 1, stride});
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ATTENTION_PASSES_H_
