"""The functions of a step of greedy decoding as compositions of PyTorch's operators for the CPU, in the place of those
of `vllm_diopi.functions`: operands are copied from the device, and results back."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def install() -> None:
    """Replaces the functions of this process."""
    from vllm_diopi import functions

    for composed in (
        slot_mapping,
        reshape_and_cache,
        paged_attention,
        residual_rms_norm,
        rotary_embedding,
        silu_and_mul,
    ):
        name = "compute_slot_mapping" if composed is slot_mapping else composed.__name__
        setattr(functions, name, composed)


def slot_mapping(query_start_loc: Tensor, positions: Tensor, block_table: Tensor, block_size: int) -> Tensor:
    starts, at, table = query_start_loc.cpu().long(), positions.cpu(), block_table.cpu().long()
    slots = torch.full_like(at, -1)
    counts = starts.diff()
    requests = torch.repeat_interleave(torch.arange(len(counts)), counts)
    tokens = at[: len(requests)]
    slots[: len(requests)] = table[requests, tokens // block_size] * block_size + tokens % block_size
    return slots.to(positions.device)


def reshape_and_cache(key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor, slots: Tensor) -> None:
    at = slots.cpu()
    tokens = (at >= 0).nonzero()[:, 0]
    blocks, size = at[tokens] // key_cache.shape[1], at[tokens] % key_cache.shape[1]
    for cache, new in ((key_cache, key), (value_cache, value)):
        held = cache.cpu()
        held[blocks, size] = new.cpu()[tokens]
        cache.copy_(held)


def paged_attention(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    block_table: Tensor,
    query_start_loc: Tensor,
    seq_lens: Tensor,
    out: Tensor,
    **options: Any,
) -> None:
    queries, table, starts, lengths = query.cpu(), block_table.cpu().long(), query_start_loc.tolist(), seq_lens.tolist()
    keys, values = key_cache.cpu(), value_cache.cpu()
    results = torch.empty(out.shape)
    for request, length in enumerate(lengths):
        first, last = starts[request], starts[request + 1]
        blocks = table[request, : -(-length // keys.shape[1])]
        own = [cache[blocks].flatten(0, 1)[:length].transpose(0, 1) for cache in (keys, values)]
        count = last - first
        mask = torch.ones(count, length, dtype=torch.bool).tril(length - count)
        attended = F.scaled_dot_product_attention(
            queries[first:last].transpose(0, 1), *own, attn_mask=mask, scale=options["softmax_scale"], enable_gqa=True
        )
        results[first:last] = attended.transpose(0, 1)
    out.copy_(results)


def residual_rms_norm(
    input: Tensor, residual: Tensor | None, weight: Tensor | None, eps: float, weight_offset: float = 0.0
) -> Tensor | tuple[Tensor, Tensor]:
    total = input.cpu() if residual is None else input.cpu() + residual.cpu()
    scale = None if weight is None else weight.cpu() + weight_offset
    normalized = F.rms_norm(total, total.shape[-1:], scale, eps).to(input.device)
    if residual is None:
        return normalized
    return normalized, residual.copy_(total)


def rotary_embedding(
    query: Tensor, key: Tensor | None, positions: Tensor, cos_sin: Tensor, head_size: int, is_interleaved: bool
) -> None:
    assert not is_interleaved
    cosines, sines = cos_sin.cpu()[positions.cpu()].unsqueeze(1).chunk(2, -1)
    for target in (query, key):
        if target is not None:
            first, second = target.cpu().unflatten(-1, (-1, head_size)).chunk(2, -1)
            rotated = torch.cat([first * cosines - second * sines, second * cosines + first * sines], -1)
            target.copy_(rotated.flatten(-2))


def silu_and_mul(input: Tensor) -> Tensor:
    first, second = input.cpu().chunk(2, -1)
    return (F.silu(first) * second).to(input.device)
