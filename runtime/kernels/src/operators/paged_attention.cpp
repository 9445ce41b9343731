// First versions of attention over caches of blocks.
#include <diopigen_kernels/operators.h>
#include <diopigen_kernels/serving/paged_attention.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "launched.h"
#include "owners.h"
#include "stored.h"

namespace diopigen::kernels::operators {
namespace {

using namespace serving;

template <typename Element>
Blocks<const Element> blocks_of(const Kernel& kernel, std::size_t position) {
    const Buffer& cache = kernel.buffer(position);
    return {kernel.in<Element>(position),
            cache.shape[1],
            cache.stride[0],
            cache.stride[1],
            cache.stride[2],
            cache.stride[3]};
}

void require_requests(const int64_t* table, const int64_t* starts, const int64_t* lengths, int64_t requests,
                      int64_t width, int64_t tokens, const Shape& cache) {
    for (int64_t request = 0; request < requests; ++request) {
        const int64_t length = lengths[request], count = starts[request + 1] - starts[request];
        if (length < 0 || length > width * cache[1] || starts[request] < 0 || count < 0 || count > length ||
            starts[request + 1] > tokens) {
            throw std::out_of_range("a request has more keys than blocks, or more tokens than keys");
        }
        for (int64_t block = 0; block * cache[1] < length; ++block) {
            const int64_t number = table[request * width + block];
            if (number < 0 || number >= cache[0]) {
                throw std::out_of_range("a block is not in the cache");
            }
        }
    }
}

}  // namespace

// Rows that belong to no request stay as they are: results are operands as well.
Status pagedAttentionVarLen(const Launch& launch, Context ctx, Out out, Out softmax_lse, In query, In key_cache,
                            In value_cache, In block_table, In query_start_loc, In seq_lens, In alibi_slopes, In sinks,
                            double softmax_scale, bool is_causal, int64_t window_size_left, int64_t window_size_right,
                            double softcap, In key_scale, In value_scale) {
    const Call call(ctx, "diopiPagedAttentionVarLen", {out, softmax_lse},
                    {query, key_cache, value_cache, block_table, query_start_loc, seq_lens, alibi_slopes, sinks, out,
                     softmax_lse, key_scale, value_scale},
                    {1, 8, 9, 11, 12, 13});
    if (!call.isComplete() || !call.haveRank({0, 2}, 3) || !call.haveRank({3, 4}, 4) || !call.haveRank({5}, 2) ||
        !call.haveRank({6, 7}, 1) || !isFloat(call.dtype(2)) || !call.haveDtype({0}, call.dtype(2)) ||
        (!is_float8(call.dtype(3)) && !call.haveDtype({3}, call.dtype(2))) || !call.haveDtype({4}, call.dtype(3)) ||
        !call.haveDtype({1, 8, 12, 13}, diopi_dtype_float32)) {
        return call.rejected();
    }
    if (window_size_left < -1 || window_size_right < -1 || !(softcap >= 0) || !std::isfinite(softcap) ||
        !std::isfinite(softmax_scale)) {
        return call.rejected("a window, a cap or a factor that is out of range");
    }
    const Shape tokens = call.shape(2), keys = call.shape(3), values = call.shape(4), table = call.shape(5);
    const int64_t heads = tokens[1], requests = call.shape(7)[0];
    if (!call.hasShape(0, {tokens[0], heads, values[3]}) || !call.haveShape({1}, {heads, tokens[0]}) ||
        !call.haveShape({3}, {keys[0], keys[1], keys[2], tokens[2]}) ||
        !call.haveShape({4}, {keys[0], keys[1], keys[2], values[3]}) || heads % keys[2] != 0 || table[0] < requests ||
        !call.haveShape({6}, {requests + 1}) || !call.haveShape({8, 9}, {heads}) || !call.haveShape({12, 13}, {1})) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput q(k, 2, tokens), slopes(k, 8, {heads}), sink(k, 9, {heads}), of_keys(k, 12, {1}),
            of_values(k, 13, {1});
        const Input<int64_t> blocks(k, 5, table), starts(k, 6, {requests + 1}), lengths(k, 7, {requests});
        require_requests(blocks.data(), starts.data(), lengths.data(), requests, table[1], tokens[0], keys);
        const Shape results{tokens[0], heads, values[3]}, rows{heads, tokens[0]};
        ChangedFloats to(k, 0, 10, results), lse(k, 1, 11, rows);
        with_stored(k.buffer(3).dtype, [&](auto element) {
            using Element = decltype(element);
            const AttendToBlocks<Element> owner{to.data(),
                                                lse.data(),
                                                q.data(),
                                                blocks_of<Element>(k, 3),
                                                blocks_of<Element>(k, 4),
                                                blocks.data(),
                                                starts.data(),
                                                lengths.data(),
                                                data_of(k, 8, slopes),
                                                data_of(k, 9, sink),
                                                data_of(k, 12, of_keys),
                                                data_of(k, 13, of_values),
                                                tokens[0],
                                                heads,
                                                keys[2],
                                                tokens[2],
                                                values[3],
                                                requests,
                                                table[1],
                                                softmax_scale,
                                                softcap,
                                                window_size_left,
                                                is_causal ? 0 : window_size_right};
            each(tokens[0] * heads, table[1] * keys[1] * tokens[2], owner);
        });
        to.finish();
        lse.finish();
    });
}

Status mergeAttentionStates(const Launch& launch, Context ctx, Out out, Out out_lse, In prefix_output, In prefix_lse,
                            In suffix_output, In suffix_lse) {
    const Call call(ctx, "diopiMergeAttentionStates", {out, out_lse},
                    {prefix_output, prefix_lse, suffix_output, suffix_lse}, {1});
    const Shape shape = call.shape(0);
    if (!call.haveRank({0}, 3) || !isFloat(call.dtype(0)) || !call.haveDtype({2, 4}, call.dtype(0)) ||
        !call.haveDtype({1, 3, 5}, diopi_dtype_float32) || !call.haveShape({2, 4}, shape) ||
        !call.haveShape({1, 3, 5}, {shape[1], shape[0]})) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& k) {
        const Shape rows{shape[1], shape[0]};
        const FloatInput first(k, 2, shape), first_lse(k, 3, rows), second(k, 4, shape), second_lse(k, 5, rows);
        FloatOutput to(k, 0, shape), lse(k, 1, rows);
        each(product(shape), 8,
             MergeElement{to.data(), lse.data(), first.data(), second.data(), first_lse.data(), second_lse.data(),
                          shape[0], shape[1], shape[2]});
        to.finish();
        lse.finish();
    });
}

}  // namespace diopigen::kernels::operators
