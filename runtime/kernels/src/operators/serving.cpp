// First versions of the layers and the caches of language model servers.
#include <diopigen_kernels/operators.h>
#include <diopigen_kernels/rows.h>
#include <diopigen_kernels/serving/cache.h>
#include <diopigen_kernels/serving/layers.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "launched.h"
#include "owners.h"
#include "stored.h"

namespace diopigen::kernels::operators {
namespace {

using namespace serving;

// Results: out, residual. Operands: input, weight, residual.
Status normalize(const Launch& launch, const Call& call, double eps, double offset) {
    const Shape shape = call.shape(2);
    if (shape.empty() || !call.isOneFloat() || !call.haveShape({0, 1, 4}, shape) ||
        !call.haveShape({3}, {shape.back()})) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& k) {
        const int64_t size = shape.back();
        const FloatInput input(k, 2, shape), residual(k, 4, shape);
        FloatOutput out(k, 0, shape), sum(k, 1, shape);
        Values weight = loadOr(k, 3, size, 1);
        std::transform(weight.begin(), weight.end(), weight.begin(), [=](double each) { return each + offset; });
        forRanges(product(shape) / size, grainOf(size), [&](int64_t first, int64_t last) {
            for (int64_t row = first; row < last; ++row) {
                float* const x = sum.data() + row * size;
                std::transform(input.data() + row * size, input.data() + (row + 1) * size, residual.data() + row * size,
                               x, [](float a, float b) { return a + b; });
                const double squares = sumOf(size, [x](int64_t i) { return double{x[i]} * x[i]; });
                const double scale = 1 / std::sqrt(squares / static_cast<double>(size) + eps);
                for (int64_t i = 0; i < size; ++i) {
                    out.data()[row * size + i] = static_cast<float>(x[i] * scale * weight[i]);
                }
            }
        });
        out.finish();
        sum.finish();
    });
}

// Whether result k can be rotated in place; `positions` and `table` are the operands with these numbers.
bool can_rotate(const Call& call, int k, int positions, int table, int64_t head_size) {
    return call.rank(k) > 0 && isFloat(call.dtype(k)) && call.hasShape(positions, {call.shape(k)[0]}) &&
           call.shape(table)[1] <= head_size && product(call.shape(k)) % (call.shape(k)[0] * head_size) == 0;
}

// Rotates tensor `to`, which is tensor `from` as well.
void rotate(const Kernel& k, int to, int from, const int64_t* positions, const float* table, int64_t rotated,
            int64_t head_size, bool is_interleaved) {
    const Shape shape = k.buffer(to).shape;
    ChangedFloats after(k, to, from, shape);
    const int64_t heads = product(shape) / shape[0] / head_size;
    each(shape[0] * heads * rotated / 2, 4,
         RotatePair{after.data(), table, positions, heads, head_size, rotated, is_interleaved});
    after.finish();
}

Status gate(const Launch& launch, const Call& call, Gate activation) {
    Shape shape = call.shape(0);
    if (shape.empty() || !call.isOneFloat()) {
        return call.rejected();
    }
    const int64_t width = shape.back();
    shape.back() *= 2;
    if (!call.haveShape({1}, shape)) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& k) {
        Shape results = shape;
        results.back() = width;
        const FloatInput from(k, 1, shape);
        FloatOutput to(k, 0, results);
        each(product(results), 16, GatedElement{to.data(), from.data(), width, activation});
        to.finish();
    });
}

// Copies tokens, the tensor `from`, to their slots of the cache `to`.
void write_tokens(const Kernel& k, int to, int from, const int64_t* slots, int64_t count) {
    const auto write = [&](auto word) {
        using Word = decltype(word);
        const Buffer &cache = k.buffer(to), &tokens = k.buffer(from);
        const Blocks<Word> blocks{k.out<Word>(to), cache.shape[1],  cache.stride[0],
                                  cache.stride[1], cache.stride[2], cache.stride[3]};
        each(count * cache.shape[2] * cache.shape[3], 1,
             CacheElement<Word>{blocks, k.in<Word>(from), tokens.stride[0], tokens.stride[1], tokens.stride[2], slots,
                                cache.shape[2], cache.shape[3]});
    };
    const diopiDtype_t dtype = k.buffer(to).dtype;
    is_float8(dtype) ? write(uint8_t{0}) : dtype == diopi_dtype_float32 ? write(uint32_t{0}) : write(uint16_t{0});
}

// Blocks of result 0 from those of operand 1, by the numbers in 2 and 3. Only caches without gaps are copied.
Status copy_blocks(const Launch& launch, const Call& call) {
    if (!call.isComplete() || call.rank(0) < 1 || call.rank(1) < 1 || !call.isInOrder(0) || !call.isInOrder(1) ||
        !call.haveRank({2}, 1) || !call.haveShape({3}, call.shape(2)) || !call.haveDtype({1}, call.dtype(0))) {
        return call.rejected();
    }
    const Shape to = call.shape(0), from = call.shape(1), count = call.shape(2);
    if (!std::equal(to.begin() + 1, to.end(), from.begin() + 1, from.end())) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& k) {
        const Input<int64_t> sources(k, 2, count), destinations(k, 3, count);
        require_within(sources.data(), count[0], 0, from[0], "a block is not in the cache");
        require_within(destinations.data(), count[0], 0, to[0], "a block is not in the cache");
        const int64_t bytes = static_cast<int64_t>(k.buffer(0).bytes) / to[0];
        // All are read before any is written.
        std::vector<char> between(static_cast<std::size_t>(count[0] * bytes));
        each(count[0] * bytes, 1, BlockElement<char>{between.data(), k.in<char>(1), sources.data(), nullptr, bytes});
        each(count[0] * bytes, 1,
             BlockElement<char>{k.out<char>(0), between.data(), nullptr, destinations.data(), bytes});
    });
}

}  // namespace

Status copyBlocksInp(const Launch& launch, Context ctx, Out cache, In source_blocks, In destination_blocks) {
    return copy_blocks(launch, Call(ctx, "diopiCopyBlocksInp", {cache}, {cache, source_blocks, destination_blocks}));
}
Status swapBlocks(const Launch& launch, Context ctx, Out destination, In source, In source_blocks,
                  In destination_blocks) {
    return copy_blocks(launch,
                       Call(ctx, "diopiSwapBlocks", {destination}, {source, source_blocks, destination_blocks}));
}

Status residualRMSNorm(const Launch& launch, Context ctx, Out out, Out residual, In input, In weight, double eps,
                       double weight_offset) {
    return normalize(launch, Call(ctx, "diopiResidualRMSNorm", {out, residual}, {input, weight, residual}, {1, 3, 4}),
                     eps, weight_offset);
}
Status residualRMSNormInp(const Launch& launch, Context ctx, Out residual, Out input, In weight, double eps,
                          double weight_offset) {
    return normalize(launch,
                     Call(ctx, "diopiResidualRMSNormInp", {input, residual}, {input, weight, residual}, {1, 3, 4}), eps,
                     weight_offset);
}

Status rotaryEmbeddingByPositionInp(const Launch& launch, Context ctx, Out query, Out key, In positions, In cos_sin,
                                    int64_t head_size, bool is_interleaved) {
    const Call call(ctx, "diopiRotaryEmbeddingByPositionInp", {query, key}, {query, key, positions, cos_sin}, {1, 3});
    if (!call.isComplete() || !call.haveRank({5}, 2) || !isFloat(call.dtype(5)) || head_size < 1 ||
        call.shape(5)[1] % 2 != 0 || !can_rotate(call, 0, 4, 5, head_size) ||
        (call.has(1) && (!can_rotate(call, 1, 4, 5, head_size) || !call.hasDtype(1, call.dtype(0))))) {
        return call.rejected();
    }
    const Shape count = call.shape(4), angles = call.shape(5);
    return launched(call, launch, [=](const Kernel& k) {
        const Input<int64_t> position(k, 4, count);
        const FloatInput table(k, 5, angles);
        require_within(position.data(), count[0], 0, angles[0], "a position is no row of cos_sin");
        rotate(k, 0, 2, position.data(), table.data(), angles[1], head_size, is_interleaved);
        if (k.buffer(1).isTensor) {
            rotate(k, 1, 3, position.data(), table.data(), angles[1], head_size, is_interleaved);
        }
    });
}

Status siluAndMul(const Launch& launch, Context ctx, Out out, In input) {
    return gate(launch, Call(ctx, "diopiSiluAndMul", {out}, {input}), Gate::kSilu);
}
Status geluAndMul(const Launch& launch, Context ctx, Out out, In input, const char* approximate) {
    const Call call(ctx, "diopiGeluAndMul", {out}, {input});
    const std::string_view formula(approximate == nullptr ? "" : approximate);
    if (formula != "none" && formula != "tanh") {
        return call.rejected("a formula that is not known");
    }
    return gate(launch, call, formula == "tanh" ? Gate::kGeluTanh : Gate::kGelu);
}

Status computeSlotMapping(const Launch& launch, Context ctx, Out slot_mapping, In query_start_loc, In positions,
                          In block_table, int64_t block_size) {
    const Call call(ctx, "diopiComputeSlotMapping", {slot_mapping}, {query_start_loc, positions, block_table});
    if (!call.isComplete() || !call.haveRank({0, 1, 2}, 1) || !call.haveRank({3}, 2) ||
        !call.haveDtype({0}, diopi_dtype_int64) || !call.haveShape({2}, call.shape(0)) || block_size < 1 ||
        call.shape(1)[0] > call.shape(3)[0] + 1) {
        return call.rejected();
    }
    const Shape starts = call.shape(1), tokens = call.shape(0), table = call.shape(3);
    return launched(call, launch, [=](const Kernel& k) {
        const Input<int64_t> first(k, 1, starts), position(k, 2, tokens), blocks(k, 3, table);
        Output<int64_t> slots(k, 0, tokens);
        const SlotOfToken owner{slots.data(),  first.data(), position.data(), blocks.data(),
                                starts[0] - 1, table[1],     block_size};
        require_within(position.data(), tokens[0], 0, owner.rowSlots(), "block_table has no entry for a position");
        each(tokens[0], 8, owner);
        slots.finish();
    });
}

Status reshapeAndCache(const Launch& launch, Context ctx, Out key_cache, Out value_cache, In key, In value,
                       In slot_mapping) {
    const Call call(ctx, "diopiReshapeAndCache", {key_cache, value_cache}, {key, value, slot_mapping});
    if (!call.isComplete() || !call.haveRank({0, 1}, 4) || !call.haveRank({2, 3}, 3) || !call.haveRank({4}, 1) ||
        (!isFloat(call.dtype(0)) && !is_float8(call.dtype(0))) || !call.haveDtype({1, 2, 3}, call.dtype(0))) {
        return call.rejected();
    }
    const Shape keys = call.shape(0), values = call.shape(1);
    const int64_t tokens = call.shape(2)[0], count = call.shape(4)[0], slots = keys[0] * keys[1];
    if (!call.haveShape({1}, {keys[0], keys[1], keys[2], values[3]}) ||
        !call.haveShape({2}, {tokens, keys[2], keys[3]}) || !call.haveShape({3}, {tokens, keys[2], values[3]}) ||
        count > tokens) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& k) {
        const Input<int64_t> slot(k, 4, {count});
        require_within(slot.data(), count, -1, slots, "a slot is not in the caches");
        write_tokens(k, 0, 2, slot.data(), count);
        write_tokens(k, 1, 3, slot.data(), count);
    });
}

Status shardedEmbedding(const Launch& launch, Context ctx, Out out, In weight, In tokens, int64_t first_token) {
    const Call call(ctx, "diopiShardedEmbedding", {out}, {weight, tokens});
    if (!call.isComplete() || !call.haveRank({1}, 2) || !isFloat(call.dtype(1)) ||
        !call.haveDtype({0}, call.dtype(1)) || first_token < 0 || !call.isInOrder(0) || !call.isInOrder(1)) {
        return call.rejected();
    }
    const Shape table = call.shape(1), of_tokens = call.shape(2);
    Shape results = of_tokens;
    results.push_back(table[1]);
    if (!call.haveShape({0}, results)) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& k) {
        const Input<int64_t> numbers(k, 2, of_tokens);
        const auto look_up = [&](auto word) {
            using Word = decltype(word);
            each(product(results), 1,
                 ShardedElement<Word>{k.out<Word>(0), k.in<Word>(1), numbers.data(), first_token, table[0], table[1]});
        };
        k.buffer(0).dtype == diopi_dtype_float32 ? look_up(uint32_t{0}) : look_up(uint16_t{0});
    });
}

}  // namespace diopigen::kernels::operators
