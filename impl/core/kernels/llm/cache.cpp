// Caches of keys and values in blocks: slots of tokens, and elements on their way into blocks and between them.
#include <diopigen_kernels/serving/cache.h>

#include "diopi_core/kernel_checks.h"
#include "diopi_core/raw_elements.h"
#include "diopi_library/each.h"
#include "diopi_library/element_check.h"
#include "llm.h"
#include "llm/element_rules.h"
#include "llm/integers.h"

namespace diopigen {

using namespace core;
using namespace kernels::serving;

namespace {

// Tokens [tokens, heads, size] to their slots.
void write_tokens(const Tensor& cache, const Tensor& tokens, const int64_t* slots, int64_t count) {
    dispatch_word(cache.dtype, [&](auto word) {
        using Word = decltype(word);
        const Blocks<Word> blocks{static_cast<Word*>(cache.data),
                                  cache.shape[1],
                                  cache.strides[0],
                                  cache.strides[1],
                                  cache.strides[2],
                                  cache.strides[3]};
        const int64_t size = tokens.shape[1] * tokens.shape[2];
        Each()(count * size, 1,
               CacheElement<Word>{blocks, static_cast<const Word*>(tokens.data), tokens.strides[0], tokens.strides[1],
                                  tokens.strides[2], slots, tokens.shape[1], tokens.shape[2]});
    });
}

// `from` may be `to`: all sources are read before a block is written.
void copy_blocks(const Tensor& to, const Tensor& from, const Tensor& source_blocks, const Tensor& destination_blocks) {
    require_apart(to, {&source_blocks, &destination_blocks});
    const IntegralInput sources(source_blocks);
    const IntegralInput destinations(destination_blocks);
    const int64_t count = source_blocks.numel;
    require_within(sources.data(), count, 0, from.shape[0], "C1: every source is a block of its cache");
    require_within(destinations.data(), count, 0, to.shape[0], "C2: every destination is a block of its cache");
    if (to.numel == 0) {
        return;
    }
    dispatch_word(to.dtype, [&](auto word) {
        using Word = decltype(word);
        const int64_t size = to.numel / to.shape[0];
        const RawInput source(from);
        const Temporary between({count, size}, to.dtype, to);
        Word* const blocks = static_cast<Word*>(between.tensor().data);
        Each()(count * size, 1, BlockElement<Word>{blocks, source.as<Word>(), sources.data(), nullptr, size});
        const Changed destination(to, to.dtype);
        Each()(count * size, 1, BlockElement<Word>{destination.as<Word>(), blocks, nullptr, destinations.data(), size});
        destination.store();
    });
}

}  // namespace

void entry::compute_slot_mapping(const ComputeSlotMappingArgs& args) {
    require_apart(args.slot_mapping, {&args.query_start_loc, &args.positions, &args.block_table});
    const IntegralInput starts(args.query_start_loc);
    const IntegralInput positions(args.positions);
    const IntegralInput table(args.block_table);
    const IntegralOutput slots(args.slot_mapping);
    const SlotOfToken slot{slots.data(),
                           starts.data(),
                           positions.data(),
                           table.data(),
                           args.query_start_loc.numel - 1,
                           args.block_table.shape[1],
                           args.block_size};
    require_within(positions.data(), args.positions.numel, 0, slot.rowSlots(),
                   "C2: a row of block_table has an entry for every position");
    Each()(args.positions.numel, 8, slot);
    slots.store();
}

void entry::reshape_and_cache(const ReshapeAndCacheArgs& args) {
    require_separate({&args.key_cache, &args.value_cache}, {&args.key, &args.value, &args.slot_mapping});
    const int64_t count = args.slot_mapping.numel;
    const IntegralInput slots(args.slot_mapping);
    require_within(slots.data(), count, -1, args.key_cache.shape[0] * args.key_cache.shape[1],
                   "C2: the entries of slot_mapping are slots of the caches, or -1");
    write_tokens(args.key_cache, args.key, slots.data(), count);
    write_tokens(args.value_cache, args.value, slots.data(), count);
}

void entry::copy_blocks_inp(const CopyBlocksInpArgs& args) {
    copy_blocks(args.cache, args.cache, args.source_blocks, args.destination_blocks);
}

void entry::swap_blocks(const SwapBlocksArgs& args) {
    require_disjoint(args.destination, args.source);
    copy_blocks(args.destination, args.source, args.source_blocks, args.destination_blocks);
}

}  // namespace diopigen
