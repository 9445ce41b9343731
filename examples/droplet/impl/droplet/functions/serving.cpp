// Servers of language models: the first versions of the kernel library serve.
#include <diopigen_kernels/operators.h>

#include "droplet/kernel.h"

namespace impl {
namespace droplet {

namespace {

using diopigen::sim::launchAtOnceIfSmall;

}  // namespace

diopiError_t diopiResidualRMSNorm(Context ctx, Out out, Out residual, In input, In weight, double eps,
                                  double weight_offset) {
    return answer(
        operators::residualRMSNorm(launchAtOnceIfSmall, ctx, out, residual, input, weight, eps, weight_offset));
}
diopiError_t diopiResidualRMSNormInp(Context ctx, Out residual, Out input, In weight, double eps,
                                     double weight_offset) {
    return answer(operators::residualRMSNormInp(launchAtOnceIfSmall, ctx, residual, input, weight, eps, weight_offset));
}
diopiError_t diopiRotaryEmbeddingByPositionInp(Context ctx, Out query, Out key, In positions, In cos_sin,
                                               int64_t head_size, bool is_interleaved) {
    return answer(operators::rotaryEmbeddingByPositionInp(launchAtOnceIfSmall, ctx, query, key, positions, cos_sin,
                                                          head_size, is_interleaved));
}
diopiError_t diopiSiluAndMul(Context ctx, Out out, In input) {
    return answer(operators::siluAndMul(launchAtOnceIfSmall, ctx, out, input));
}
diopiError_t diopiGeluAndMul(Context ctx, Out out, In input, const char* approximate) {
    return answer(operators::geluAndMul(launchAtOnceIfSmall, ctx, out, input, approximate));
}
diopiError_t diopiComputeSlotMapping(Context ctx, Out slot_mapping, In query_start_loc, In positions, In block_table,
                                     int64_t block_size) {
    return answer(operators::computeSlotMapping(launchAtOnceIfSmall, ctx, slot_mapping, query_start_loc, positions,
                                                block_table, block_size));
}
diopiError_t diopiReshapeAndCache(Context ctx, Out key_cache, Out value_cache, In key, In value, In slot_mapping) {
    return answer(
        operators::reshapeAndCache(launchAtOnceIfSmall, ctx, key_cache, value_cache, key, value, slot_mapping));
}
diopiError_t diopiCopyBlocksInp(Context ctx, Out cache, In source_blocks, In destination_blocks) {
    return answer(operators::copyBlocksInp(launchAtOnceIfSmall, ctx, cache, source_blocks, destination_blocks));
}
diopiError_t diopiSwapBlocks(Context ctx, Out destination, In source, In source_blocks, In destination_blocks) {
    return answer(
        operators::swapBlocks(launchAtOnceIfSmall, ctx, destination, source, source_blocks, destination_blocks));
}
diopiError_t diopiPagedAttentionVarLen(Context ctx, Out out, Out softmax_lse, In query, In key_cache, In value_cache,
                                       In block_table, In query_start_loc, In seq_lens, In alibi_slopes, In sinks,
                                       double softmax_scale, bool is_causal, int64_t window_size_left,
                                       int64_t window_size_right, double softcap, In key_scale, In value_scale) {
    return answer(operators::pagedAttentionVarLen(launchAtOnceIfSmall, ctx, out, softmax_lse, query, key_cache,
                                                  value_cache, block_table, query_start_loc, seq_lens, alibi_slopes,
                                                  sinks, softmax_scale, is_causal, window_size_left, window_size_right,
                                                  softcap, key_scale, value_scale));
}
diopiError_t diopiMergeAttentionStates(Context ctx, Out out, Out out_lse, In prefix_output, In prefix_lse,
                                       In suffix_output, In suffix_lse) {
    return answer(operators::mergeAttentionStates(launchAtOnceIfSmall, ctx, out, out_lse, prefix_output, prefix_lse,
                                                  suffix_output, suffix_lse));
}

diopiError_t diopiTopkGating(Context ctx, Out weights, Out experts, In gating, In bias, int64_t top_k,
                             const char* scoring, bool renormalize, int64_t num_groups, int64_t top_groups,
                             double scaling) {
    return answer(operators::topkGating(launchAtOnceIfSmall, ctx, weights, experts, gating, bias, top_k, scoring,
                                        renormalize, num_groups, top_groups, scaling));
}
diopiError_t diopiFusedExperts(Context ctx, Out out, In input, In gate_up_weight, In down_weight, In weights,
                               In experts, In gate_up_bias, In down_bias, In expert_map, const char* activation,
                               In gate_up_scale, In down_scale, int64_t block) {
    return answer(operators::fusedExperts(launchAtOnceIfSmall, ctx, out, input, gate_up_weight, down_weight, weights,
                                          experts, gate_up_bias, down_bias, expert_map, activation, gate_up_scale,
                                          down_scale, block));
}
diopiError_t diopiPackedExperts(Context ctx, Out out, In input, In gate_up_weight, In down_weight, In gate_up_scale,
                                In down_scale, In weights, In experts, In gate_up_zero, In down_zero, In gate_up_bias,
                                In down_bias, In expert_map, const char* activation, int64_t bits) {
    return answer(operators::packedExperts(launchAtOnceIfSmall, ctx, out, input, gate_up_weight, down_weight,
                                           gate_up_scale, down_scale, weights, experts, gate_up_zero, down_zero,
                                           gate_up_bias, down_bias, expert_map, activation, bits));
}
diopiError_t diopiGroupedGemm(Context ctx, Out out, In input, In weight, In bias, In group_ends) {
    return answer(operators::groupedGemm(launchAtOnceIfSmall, ctx, out, input, weight, bias, group_ends));
}
diopiError_t diopiMaskLogitsInp(Context ctx, Out logits, In top_k, In top_p, In min_p) {
    return answer(operators::maskLogitsInp(launchAtOnceIfSmall, ctx, logits, top_k, top_p, min_p));
}
diopiError_t diopiPenalizeLogitsInp(Context ctx, Out logits, In prompt_tokens, In output_tokens, In presence,
                                    In frequency, In repetition) {
    return answer(operators::penalizeLogitsInp(launchAtOnceIfSmall, ctx, logits, prompt_tokens, output_tokens, presence,
                                               frequency, repetition));
}
diopiError_t diopiSampleTokens(Context ctx, Out tokens, In logits, In uniforms) {
    return answer(operators::sampleTokens(launchAtOnceIfSmall, ctx, tokens, logits, uniforms));
}
diopiError_t diopiPackedLinear(Context ctx, Out out, In input, In weight, In scale, In zero_point, In bias,
                               int64_t bits) {
    return answer(operators::packedLinear(launchAtOnceIfSmall, ctx, out, input, weight, scale, zero_point, bias, bits));
}
diopiError_t diopiQuantizeByToken(Context ctx, Out out, Out scale, In input) {
    return answer(operators::quantizeByToken(launchAtOnceIfSmall, ctx, out, scale, input));
}
diopiError_t diopiScaledInt8Linear(Context ctx, Out out, In input, In weight, In input_scale, In weight_scale,
                                   In bias) {
    return answer(
        operators::scaledInt8Linear(launchAtOnceIfSmall, ctx, out, input, weight, input_scale, weight_scale, bias));
}
diopiError_t diopiGptqLinear(Context ctx, Out out, In input, In weight, In scale, In zero_point, In group_index,
                             In bias, int64_t bits, int64_t zero_offset) {
    return answer(operators::gptqLinear(launchAtOnceIfSmall, ctx, out, input, weight, scale, zero_point, group_index,
                                        bias, bits, zero_offset));
}
diopiError_t diopiAwqLinear(Context ctx, Out out, In input, In weight, In scale, In zero_point, In bias) {
    return answer(operators::awqLinear(launchAtOnceIfSmall, ctx, out, input, weight, scale, zero_point, bias));
}
diopiError_t diopiQuantizeFloat8ByToken(Context ctx, Out out, Out scale, In input, int64_t group_size) {
    return answer(operators::quantizeFloat8ByToken(launchAtOnceIfSmall, ctx, out, scale, input, group_size));
}
diopiError_t diopiQuantizeFloat8(Context ctx, Out out, In input, In scale) {
    return answer(operators::quantizeFloat8(launchAtOnceIfSmall, ctx, out, input, scale));
}
diopiError_t diopiScaledFloat8Linear(Context ctx, Out out, In input, In weight, In input_scale, In weight_scale,
                                     In bias, int64_t block) {
    return answer(operators::scaledFloat8Linear(launchAtOnceIfSmall, ctx, out, input, weight, input_scale, weight_scale,
                                                bias, block));
}
diopiError_t diopiArgmax(Context ctx, Out out, In input, const int64_t* dim, bool keepdim) {
    return answer(operators::argmax(launchAtOnceIfSmall, ctx, out, input, dim, keepdim));
}
diopiError_t diopiShardedEmbedding(Context ctx, Out out, In weight, In tokens, int64_t first_token) {
    return answer(operators::shardedEmbedding(launchAtOnceIfSmall, ctx, out, weight, tokens, first_token));
}

}  // namespace droplet
}  // namespace impl
