"""The functions of serving, each named once. Those that `torch.ops.diopi` has not are composed of operators of ATen."""

from __future__ import annotations

import torch
from torch import Tensor


def compute_slot_mapping(query_start_loc: Tensor, positions: Tensor, block_table: Tensor, block_size: int) -> Tensor:
    """Returns the slot of each token, int64 [tokens]: the block that its request has for its position, times
    `block_size`, and the position in it; -1 for tokens behind the last request."""
    tokens = torch.arange(positions.numel(), device=positions.device, dtype=query_start_loc.dtype)
    request = torch.searchsorted(query_start_loc[1:].contiguous(), tokens, right=True)
    padding = request >= query_start_loc.numel() - 1
    request = request.clamp(max=query_start_loc.numel() - 2)
    blocks = block_table[request, positions // block_size].to(torch.int64)
    return torch.where(padding, -1, blocks * block_size + positions % block_size)


def reshape_and_cache(key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor, slots: Tensor) -> None:
    """Writes keys [tokens, kv_heads, head_size] and values to their slots of the caches, [blocks, block_size, kv_heads,
    head_size] with any strides; a token whose slot is negative is left out."""
    block_size = key_cache.shape[1]
    used = (slots >= 0).nonzero().squeeze(1)
    slots = slots[used]
    index = (slots // block_size, slots % block_size)
    key_cache.index_put_(index, key[used])
    value_cache.index_put_(index, value[used])


def paged_attention(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    block_table: Tensor,
    query_start_loc: Tensor,
    seq_lens: Tensor,
    out: Tensor,
    *,
    alibi_slopes: Tensor | None = None,
    sinks: Tensor | None = None,
    softmax_scale: float,
    is_causal: bool = True,
    window_size_left: int = -1,
    softcap: float = 0.0,
) -> None:
    """Writes the attention of the new tokens of each request to its blocks, [tokens, heads, value_head_size].

    `query` is [tokens, heads, head_size], request after request; the caches are [blocks, block_size, kv_heads,
    head_size]; a negative window or a cap of 0 means none.
    """
    starts, lengths = query_start_loc.tolist(), seq_lens.tolist()
    block_size, kv_heads = key_cache.shape[1], key_cache.shape[2]
    groups = query.shape[1] // kv_heads
    for request, length in enumerate(lengths):
        begin, end = starts[request], starts[request + 1]
        if begin == end:
            continue
        blocks = block_table[request, : -(-length // block_size)].to(torch.int64)
        keys = key_cache[blocks].flatten(0, 1)[:length].transpose(0, 1)
        values = value_cache[blocks].flatten(0, 1)[:length].transpose(0, 1)
        rows = query[begin:end].unflatten(1, (kv_heads, groups)).permute(1, 2, 0, 3)
        scores = (rows @ keys.unsqueeze(1).transpose(2, 3)).to(torch.float32) * softmax_scale
        if softcap > 0:
            scores = softcap * torch.tanh(scores / softcap)
        own = torch.arange(length - (end - begin), length, device=query.device).unsqueeze(1)
        distance = own - torch.arange(length, device=query.device).unsqueeze(0)
        if alibi_slopes is not None:
            scores = scores - alibi_slopes.view(kv_heads, groups, 1, 1) * distance.abs()
        hidden = torch.zeros_like(distance, dtype=torch.bool)
        if is_causal:
            hidden = distance < 0
        if window_size_left >= 0:
            hidden = hidden | (distance > window_size_left)
        scores = scores.masked_fill(hidden, float("-inf"))
        if sinks is not None:
            sink = sinks.to(torch.float32).view(kv_heads, groups, 1, 1).expand(-1, -1, end - begin, 1)
            weights = torch.softmax(torch.cat([scores, sink], dim=-1), dim=-1)[..., :-1]
        else:
            weights = torch.softmax(scores, dim=-1)
        result = weights.to(values.dtype) @ values.unsqueeze(1)
        out[begin:end].copy_(result.permute(2, 0, 1, 3).flatten(1, 2))


def residual_rms_norm(
    input: Tensor, residual: Tensor | None, weight: Tensor | None, eps: float, weight_offset: float = 0.0
) -> Tensor | tuple[Tensor, Tensor]:
    """Returns the rows of `input` [tokens, hidden_size] divided by their root mean square and multiplied by `weight +
    weight_offset`; with a residual stream, normalizes their sum, and returns it too."""
    sums = input.to(torch.float32)
    if residual is not None:
        sums = sums + residual.to(torch.float32)
    factor = None if weight is None else weight.to(torch.float32) + weight_offset
    normalized = torch.nn.functional.rms_norm(sums, sums.shape[-1:], factor, eps).to(input.dtype)
    return normalized if residual is None else (normalized, sums.to(input.dtype))


def rotary_embedding(
    query: Tensor, key: Tensor | None, positions: Tensor, cos_sin: Tensor, head_size: int, is_interleaved: bool
) -> None:
    """Rotates the first elements of each head of queries and keys [tokens, heads * head_size] in place by the angles of
    their positions: a row of `cos_sin` [positions, rotary_dim] has the cosines, then the sines."""
    rows = cos_sin.index_select(0, positions.flatten()).unsqueeze(1)
    cos, sin = rows.chunk(2, dim=-1)
    rotary = cos_sin.shape[-1]
    for tensor in (query, key):
        if tensor is None:
            continue
        heads = tensor.view(positions.numel(), -1, head_size)[..., :rotary]
        first = heads[..., 0::2] if is_interleaved else heads[..., : rotary // 2]
        second = heads[..., 1::2] if is_interleaved else heads[..., rotary // 2 :]
        rotated = first * cos - second * sin, second * cos + first * sin
        first.copy_(rotated[0])
        second.copy_(rotated[1])


def silu_and_mul(input: Tensor) -> Tensor:
    """Returns silu of the first half of each row times the second, [tokens, intermediate_size]."""
    gate, value = input.chunk(2, dim=-1)
    return torch.nn.functional.silu(gate) * value


def gelu_and_mul(input: Tensor, approximate: str) -> Tensor:
    """Returns gelu of the first half of each row times the second; `approximate` is "none" or "tanh"."""
    gate, value = input.chunk(2, dim=-1)
    return torch.nn.functional.gelu(gate, approximate=approximate) * value


def topk_experts(
    weights: Tensor,
    ids: Tensor,
    gating: Tensor,
    scoring: str,
    renormalize: bool,
    bias: Tensor | None,
    scale: float,
) -> None:
    """Writes the weights, float32 [tokens, top_k], and numbers of the best experts by `gating` [tokens, experts]. A
    bias counts in the choice, not in the weights."""
    scores = gating.to(torch.float32)
    scores = torch.softmax(scores, dim=-1) if scoring == "softmax" else torch.sigmoid(scores)
    chosen = torch.topk(scores if bias is None else scores + bias, ids.shape[1], dim=-1).indices
    values = scores.gather(1, chosen)
    if renormalize:
        values = values / values.sum(dim=-1, keepdim=True)
    weights.copy_(values * scale)
    ids.copy_(chosen)


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
) -> Tensor:
    """Returns the weighted sums of the results of each token's experts, [tokens, hidden_size]. Weights of the experts
    are [experts, 2 * intermediate_size, hidden_size] and [experts, hidden_size, intermediate_size]; `expert_map` has
    the number of each expert on this device, -1 for those of others."""
    gates = {
        "silu": silu_and_mul,
        "gelu": lambda x: gelu_and_mul(x, "none"),
        "gelu_tanh": lambda x: gelu_and_mul(x, "tanh"),
    }
    if activation not in gates:
        raise NotImplementedError(f"experts with the activation {activation} are not supported: {', '.join(gates)} are")
    out = torch.zeros_like(input, dtype=torch.float32)
    local = ids.to(torch.int64) if expert_map is None else expert_map[ids.to(torch.int64)]
    for expert in range(gate_up.shape[0]):
        share = torch.where(local == expert, weights, 0.0).sum(dim=-1, keepdim=True)
        hidden = gates[activation](torch.nn.functional.linear(input, gate_up[expert], _row(gate_up_bias, expert)))
        out += share * torch.nn.functional.linear(hidden, down[expert], _row(down_bias, expert)).to(torch.float32)
    return out.to(input.dtype)


def _row(bias: Tensor | None, expert: int) -> Tensor | None:
    return None if bias is None else bias[expert]


def weight_only_linear(
    input: Tensor, packed: Tensor, scales: Tensor, zeros: Tensor | None, bits: int, offset: int, bias: Tensor | None
) -> Tensor:
    """Returns `input` [tokens, depth] times weights of 4 or 8 bits, which `packed`, int32 [columns, depth * bits / 32],
    has from the lowest bits on; (weight - offset - zero) * scale, with scales and zeros [columns, groups]."""
    shifts = torch.arange(0, 32, bits, device=packed.device, dtype=torch.int32)
    values = (packed.unsqueeze(-1) >> shifts) & (2**bits - 1)
    weight = values.flatten(1).unflatten(1, (scales.shape[1], -1)).to(torch.float32) - offset
    if zeros is not None:
        weight = weight - zeros.to(torch.float32).unsqueeze(-1)
    weight = (weight * scales.to(torch.float32).unsqueeze(-1)).flatten(1).to(input.dtype)
    return torch.nn.functional.linear(input, weight, bias)


def int8_linear(
    input: Tensor, weight: Tensor, weight_scale: Tensor, input_scale: Tensor | None, bias: Tensor | None
) -> Tensor:
    """Returns `input` [tokens, depth], quantized to int8 by the largest value of each token or by `input_scale`, times
    `weight`, int8 [columns, depth], with `weight_scale` [columns, 1] or of one element."""
    if input_scale is None:
        input_scale = input.to(torch.float32).abs().amax(dim=-1, keepdim=True).clamp(min=1e-10) / 127
    quantized = torch.round(input.to(torch.float32) / input_scale).clamp(-128, 127)
    product = torch.nn.functional.linear(quantized, weight.to(torch.float32))  # exact below 2 ** 24
    out = (product * input_scale * weight_scale.to(torch.float32).flatten()).to(input.dtype)
    return out if bias is None else out + bias
