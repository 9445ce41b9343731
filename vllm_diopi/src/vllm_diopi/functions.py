"""The functions of serving, each named once: operators of `torch.ops.diopi` with results as vLLM expects them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

_operators = torch.ops.diopi


def compute_slot_mapping(query_start_loc: Tensor, positions: Tensor, block_table: Tensor, block_size: int) -> Tensor:
    """Returns the slot of each token, int64 [tokens]: the block that its request has for its position, times
    `block_size`, and the position in it; -1 for tokens behind the last request."""
    slots: Tensor = _operators.compute_slot_mapping(query_start_loc, positions, block_table, block_size)
    return slots


def reshape_and_cache(key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor, slots: Tensor) -> None:
    """Writes keys [tokens, kv_heads, head_size] and values to their slots of the caches, [blocks, block_size, kv_heads,
    head_size] with any strides. A token whose slot is -1, or that has none, is left out."""
    _operators.reshape_and_cache(key_cache, value_cache, key, value, slots)


def paged_attention(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    block_table: Tensor,
    query_start_loc: Tensor,
    seq_lens: Tensor,
    out: Tensor,
    *,
    alibi_slopes: Tensor | None,
    sinks: Tensor | None,
    softmax_scale: float,
    is_causal: bool,
    window_size_left: int,
    softcap: float,
    key_scale: Tensor | None = None,
    value_scale: Tensor | None = None,
) -> None:
    """Writes the attention of the new tokens of each request to its blocks, [tokens, heads, value_head_size].

    `query` is [tokens, heads, head_size], request after request; the caches are [blocks, block_size, kv_heads,
    head_size], for float8 with scales [1]; a window of -1 and a cap of 0 mean none.
    """
    _operators.paged_attention_var_len(
        out,
        None,
        query,
        key_cache,
        value_cache,
        block_table,
        query_start_loc,
        seq_lens,
        alibi_slopes,
        sinks,
        softmax_scale,
        is_causal,
        window_size_left,
        -1,
        softcap,
        key_scale,
        value_scale,
    )


def residual_rms_norm(
    input: Tensor, residual: Tensor | None, weight: Tensor | None, eps: float, weight_offset: float = 0.0
) -> Tensor | tuple[Tensor, Tensor]:
    """Returns the rows of `input` [tokens, hidden_size] divided by their root mean square and multiplied by `weight +
    weight_offset`. A residual stream becomes its sum with the input, is normalized instead, and is returned too."""
    normalized: Tensor = _operators.residual_rms_norm(residual, input, weight, eps, weight_offset)
    return normalized if residual is None else (normalized, residual)


def rotary_embedding(
    query: Tensor, key: Tensor | None, positions: Tensor, cos_sin: Tensor, head_size: int, is_interleaved: bool
) -> None:
    """Rotates the first elements of each head of queries and keys [tokens, heads * head_size] in place by the angles of
    their positions: a row of `cos_sin` [positions, rotary_dim] has the cosines, then the sines."""
    _operators.rotary_embedding_by_position_inp(query, key, positions, cos_sin, head_size, is_interleaved)


def silu_and_mul(input: Tensor) -> Tensor:
    """Returns silu of the first half of each row times the second, [tokens, intermediate_size]."""
    out = input.new_empty((*input.shape[:-1], input.shape[-1] // 2))
    _operators.silu_and_mul(out, input)
    return out


def gelu_and_mul(input: Tensor, approximate: str) -> Tensor:
    """Returns gelu of the first half of each row times the second; `approximate` is "none" or "tanh"."""
    out = input.new_empty((*input.shape[:-1], input.shape[-1] // 2))
    _operators.gelu_and_mul(out, input, approximate)
    return out


def topk_experts(
    weights: Tensor,
    ids: Tensor,
    gating: Tensor,
    scoring: str,
    renormalize: bool,
    bias: Tensor | None,
    scale: float,
    groups: int = 1,
    top_groups: int = 1,
) -> None:
    """Writes the weights, float32 [tokens, top_k], and numbers of the best experts by `gating` [tokens, experts]. A
    bias counts in the choice, not in the weights; of neighbouring experts in `groups` those of the best are chosen."""
    values = _operators.topk_gating(ids, gating, bias, ids.shape[1], scoring, renormalize, groups, top_groups, scale)
    weights.copy_(values)


def fused_experts(
    input: Tensor,
    gate_up: Tensor,
    down: Tensor,
    weights: Tensor,
    ids: Tensor,
    gate_up_bias: Tensor | None,
    down_bias: Tensor | None,
    expert_map: Tensor | None,
    activation: str,
    gate_up_scale: Tensor | None = None,
    down_scale: Tensor | None = None,
    block: int = 128,
) -> Tensor:
    """Returns the weighted sums of the results of each token's experts, [tokens, hidden_size]. Weights of the experts
    are [experts, 2 * intermediate_size, hidden_size] and [experts, hidden_size, intermediate_size], for float8 with
    scales of experts, rows or square blocks; `expert_map` has the number of each expert on this device, -1 for those
    of others."""
    scales = gate_up_scale, down_scale, block
    out: Tensor = _operators.fused_experts(
        input, gate_up, down, weights, ids, gate_up_bias, down_bias, expert_map, activation, *scales
    )
    return out


def packed_experts(
    input: Tensor,
    gate_up: Sequence[Any],
    down: Sequence[Any],
    weights: Tensor,
    ids: Tensor,
    expert_map: Tensor | None,
    activation: str,
    bits: int,
) -> Tensor:
    """Returns `fused_experts` with weights of 4 or 8 bits. Both projections are weights, packed along the last
    dimension as for `packed_linear`; a scale for each group, [experts, rows, groups]; a zero for each, int32 [experts,
    rows * bits / 32, groups], packed along the rows, or None for half the range; and a bias or None."""
    matrices, scales, zeros, biases = zip(gate_up, down, strict=True)
    out: Tensor = _operators.packed_experts(
        input, *matrices, *scales, weights, ids, *zeros, *biases, expert_map, activation, bits
    )
    return out


def packed_linear(input: Tensor, packed: Tensor, scales: Tensor, bias: Tensor | None, bits: int) -> Tensor:
    """Returns `input` [tokens, depth] times weights of 4 or 8 bits less half their range, with a scale for each group,
    [columns, groups]. `packed`, int32 [columns, depth * bits / 32], has the first of eight or four in the lowest
    bits."""
    out = input.new_empty((*input.shape[:-1], packed.shape[0]))
    _operators.packed_linear(out, input, packed, scales, None, bias, bits)
    return out


def int8_linear(
    input: Tensor, weight: Tensor, weight_scale: Tensor, input_scale: Tensor | None, bias: Tensor | None
) -> Tensor:
    """Returns `input` [tokens, depth], quantized to int8 by the largest value of each token or by `input_scale`, times
    `weight`, int8 [columns, depth], with `weight_scale` [columns, 1] or [1]."""
    if input_scale is None:
        input_scale = input.new_empty((*input.shape[:-1], 1), dtype=torch.float32)
        quantized = _operators.quantize_by_token(input_scale, input)
    else:
        quantized = torch.round(input.to(torch.float32) / input_scale).clamp(-128, 127).to(torch.int8)
    out = input.new_empty((*input.shape[:-1], weight.shape[0]))
    _operators.scaled_int8_linear(out, quantized, weight, input_scale, weight_scale, bias)
    return out


def gptq_linear(
    input: Tensor, packed: Tensor, scales: Tensor, zeros: Tensor | None, bias: Tensor | None, bits: int, offset: int
) -> Tensor:
    """Returns `input` [tokens, depth] times weights that GPTQ stores: `packed`, int32 [depth * bits / 32, columns], a
    scale and a zero less `offset` for each group, [groups, columns] and [groups, columns * bits / 32]."""
    out = input.new_empty((*input.shape[:-1], packed.shape[1]))
    _operators.gptq_linear(out, input, packed, scales, zeros, None, bias, bits, offset)
    return out


def awq_linear(input: Tensor, packed: Tensor, scales: Tensor, zeros: Tensor, bias: Tensor | None) -> Tensor:
    """Returns `input` [tokens, depth] times weights that AWQ stores: `packed`, int32 [depth, columns / 8], a scale and
    a zero for each group, [groups, columns] and [groups, columns / 8]."""
    out = input.new_empty((*input.shape[:-1], scales.shape[1]))
    _operators.awq_linear(out, input, packed, scales, zeros, bias)
    return out


def quantize_float8(
    input: Tensor, scale: Tensor | None, group_size: int, dtype: torch.dtype = torch.float8_e4m3fn
) -> tuple[Tensor, Tensor]:
    """Returns `input` [tokens, depth] in float8 and its scales: `scale`, [1], or by the largest value of each group of
    a token, [tokens, groups]; a group size of 0 is that of whole tokens."""
    out = torch.empty_like(input, dtype=dtype, memory_format=torch.contiguous_format)
    if scale is not None:
        scale = scale.reshape(1)
        _operators.quantize_float8(out, input, scale)
        return out, scale
    groups = -(-input.shape[-1] // group_size) if group_size else 1
    scale = input.new_empty((*input.shape[:-1], groups), dtype=torch.float32)
    _operators.quantize_float8_by_token(out, scale, input, group_size)
    return out, scale


def float8_linear(
    input: Tensor,
    weight: Tensor,
    input_scale: Tensor,
    weight_scale: Tensor,
    bias: Tensor | None,
    dtype: torch.dtype,
    block: int,
) -> Tensor:
    """Returns `input`, float8 [tokens, depth], times `weight`, float8 [columns, depth], with scales of all, of tokens
    and columns, or of blocks."""
    out = torch.empty((*input.shape[:-1], weight.shape[0]), dtype=dtype, device=input.device)
    _operators.scaled_float8_linear(out, input, weight, input_scale, weight_scale, bias, block)
    return out


def sharded_embedding(weight: Tensor, tokens: Tensor, first: int) -> Tensor:
    """Returns the rows of `tokens` in a table of the tokens from `first` on, zeros for those of other devices."""
    out = weight.new_empty((*tokens.shape, weight.shape[1]))
    _operators.sharded_embedding(out, weight, tokens, first)
    return out


def mask_logits(logits: Tensor, top_k: Tensor | None, top_p: Tensor | None, min_p: Tensor | None) -> None:
    """Sets the logits [requests, vocabulary] that a request leaves out to -inf in place."""
    _operators.mask_logits_inp(logits, top_k, top_p, min_p)


def penalize_logits(
    logits: Tensor, prompt: Tensor, output: Tensor, presence: Tensor, frequency: Tensor, repetition: Tensor
) -> None:
    """Lowers the logits [requests, vocabulary] of the tokens that a request holds in place; tokens outside of the
    vocabulary are padding."""
    _operators.penalize_logits_inp(logits, prompt, output, presence, frequency, repetition)


def sample_tokens(logits: Tensor, uniforms: Tensor) -> Tensor:
    """Returns a token of each request by its logits, int64 [requests], and a number in [0, 1)."""
    tokens: Tensor = _operators.sample_tokens(logits, uniforms)
    return tokens
