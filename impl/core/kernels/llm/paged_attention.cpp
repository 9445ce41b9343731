// PagedAttentionVarLen and MergeAttentionStates.
#include <diopigen_kernels/serving/paged_attention.h>

#include <optional>

#include "diopi_core/kernel_checks.h"
#include "diopi_core/raw_elements.h"
#include "diopi_library/each.h"
#include "diopi_library/element_check.h"
#include "llm.h"
#include "llm/float8.h"
#include "llm/integers.h"

namespace diopigen {

using namespace core;
using namespace kernels::serving;

namespace {

template <typename Element>
Blocks<const Element> blocks_of(const Tensor& cache) {
    return {static_cast<const Element*>(cache.data),
            cache.shape[1],
            cache.strides[0],
            cache.strides[1],
            cache.strides[2],
            cache.strides[3]};
}

// An owner for each request.
template <typename Finding>
struct RequestIsInOrder {
    const int64_t* starts;
    const int64_t* lengths;
    int64_t tokens;
    int64_t slots;  // of a row of the table
    Finding wrong_length;
    Finding wrong_start;

    DIOPI_HOST_DEVICE void operator()(int64_t request) const {
        const int64_t first = starts[request];
        const int64_t end = starts[request + 1];
        if (lengths[request] < 0 || lengths[request] > slots) {
            wrong_length(lengths[request]);
        }
        if (first < 0 || end < first || end > tokens || end - first > lengths[request]) {
            wrong_start(first);
        }
    }
};

// An owner for each entry of the rows of requests.
template <typename Finding>
struct BlockIsInCache {
    const int64_t* table;
    const int64_t* lengths;
    int64_t width;
    int64_t block_size;
    int64_t blocks;
    Finding outside;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const bool is_read = owner % width * block_size < lengths[owner / width];
        if (is_read && (table[owner] < 0 || table[owner] >= blocks)) {
            outside(table[owner]);
        }
    }
};

void require_requests(const entry::PagedAttentionVarLenArgs& args, const int64_t* table, const int64_t* starts,
                      const int64_t* lengths) {
    const int64_t requests = args.seq_lens.numel;
    const int64_t width = args.block_table.shape[1];
    const int64_t block_size = args.key_cache.shape[1];
    ElementCheck length("C3: block_table has a block for every key");
    ElementCheck start(
        "C5: query_start_loc never falls and ends within query, and no request has more tokens than keys");
    Each()(requests, 1,
           RequestIsInOrder<decltype(length.finding())>{starts, lengths, args.query.shape[0], width * block_size,
                                                        length.finding(), start.finding()});
    length.conclude();
    start.conclude();
    ElementCheck block("C4: the entries of block_table are blocks of the cache");
    Each()(requests * width, 1,
           BlockIsInCache<decltype(block.finding())>{table, lengths, width, block_size, args.key_cache.shape[0],
                                                     block.finding()});
    block.conclude();
}

}  // namespace

void entry::paged_attention_var_len(const PagedAttentionVarLenArgs& args) {
    require_separate({&args.out, &args.softmax_lse},
                     {&args.query, &args.key_cache, &args.value_cache, &args.block_table, &args.query_start_loc,
                      &args.seq_lens, &args.alibi_slopes, &args.sinks, &args.key_scale, &args.value_scale});
    const IntegralInput table(args.block_table);
    const IntegralInput starts(args.query_start_loc);
    const IntegralInput lengths(args.seq_lens);
    require_requests(args, table.data(), starts.data(), lengths.data());
    const Input<float> query(args.query);
    const Input<float> slopes(args.alibi_slopes);
    const Input<float> sinks(args.sinks);
    const Input<float> key_scale(args.key_scale);
    const Input<float> value_scale(args.value_scale);
    const Changed out(args.out, Dtype::kFloat32);
    std::optional<Changed> lse;
    if (!args.softmax_lse.is_null()) {
        lse.emplace(args.softmax_lse, Dtype::kFloat32);
    }
    const int64_t tokens = args.query.shape[0];
    const int64_t heads = args.query.shape[1];
    dispatch_stored(args.key_cache, [&](auto sample) {
        using Element = decltype(sample);
        const AttendToBlocks<Element> owner{out.as<float>(),
                                            lse ? lse->as<float>() : nullptr,
                                            query.data(),
                                            blocks_of<Element>(args.key_cache),
                                            blocks_of<Element>(args.value_cache),
                                            table.data(),
                                            starts.data(),
                                            lengths.data(),
                                            slopes.data(),
                                            sinks.data(),
                                            key_scale.data(),
                                            value_scale.data(),
                                            tokens,
                                            heads,
                                            args.key_cache.shape[2],
                                            args.query.shape[2],
                                            args.out.shape[2],
                                            args.seq_lens.numel,
                                            args.block_table.shape[1],
                                            args.softmax_scale,
                                            args.softcap,
                                            args.window_size_left,
                                            args.is_causal ? 0 : args.window_size_right};
        Each()(tokens * heads, args.block_table.shape[1] * args.key_cache.shape[1] * args.query.shape[2], owner);
    });
    out.store();
    if (lse) {
        lse->store();
    }
}

void entry::merge_attention_states(const MergeAttentionStatesArgs& args) {
    require_separate({&args.out, &args.out_lse}, {&args.prefix_lse, &args.suffix_lse});
    for (const Tensor* operand : {&args.prefix_output, &args.suffix_output}) {
        require_apart(args.out_lse, {operand});
    }
    const Input<float> first(args.prefix_output);
    const Input<float> second(args.suffix_output);
    const Input<float> first_lse(args.prefix_lse);
    const Input<float> second_lse(args.suffix_lse);
    const Output<float> out(args.out);
    const Output<float> lse(args.out_lse);
    Each()(args.out.numel, 8,
           MergeElement{out.data(), args.out_lse.is_null() ? nullptr : lse.data(), first.data(), second.data(),
                        first_lse.data(), second_lse.data(), args.out.shape[0], args.out.shape[1], args.out.shape[2]});
    out.store();
    lse.store();
}

}  // namespace diopigen
