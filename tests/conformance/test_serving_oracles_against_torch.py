"""The oracles of functions_lmdeploy.h against torch: every case of the layers, the look-ups, the penalties and the
bookkeeping of tokens, in float64. Needs the `torch` extra."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from torch_arguments import Arguments, Reference, compare

from diopigen.ir.model import Interface

torch = pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")
F = torch.nn.functional


def _ffn(a: Arguments) -> dict[str, Any]:
    return {"inoutput": (F.silu(a.inoutput @ a.weight1) * (a.inoutput @ a.weight3)) @ a.weight2}


def _add_norm(a: Arguments) -> dict[str, Any]:
    total = a.residual + a.inoutput + (0 if a.bias is None else a.bias)
    return {"residual": total, "inoutput": F.rms_norm(total, total.shape[-1:], a.scale, a.eps)}


def _rotate(x: Any, positions: Any, count: int, theta: float) -> Any:
    """The pairs 2i and 2i + 1 of [heads, tokens, size] as complex numbers, times exp(i angle)."""
    pairs = torch.view_as_complex(x[..., :count].reshape(*x.shape[:-1], count // 2, 2).contiguous())
    angles = positions[:, None] * theta ** (-2 * torch.arange(count // 2, dtype=torch.float64) / max(count, 1))
    rotated = torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)
    return torch.cat([rotated, x[..., count:]], -1)


def _attention(a: Arguments, starts: list[int | None], count: int) -> dict[str, Any]:
    """Sequence b has `count` new rows from position starts[b] on; None leaves it as it is."""
    out, keys, values = a.inoutput.clone(), a.key_cache.clone(), a.value_cache.clone()
    heads, kv_heads, size = a.local_head_num, a.local_kv_head_num, a.size_per_head
    projected = a.inoutput @ a.qkv_weight + (0 if a.qkv_bias is None else a.qkv_bias)
    split = projected.view(-1, heads + 2 * kv_heads, size).split([heads, kv_heads, kv_heads], 1)
    for b, start in enumerate(starts):
        if start is None:
            continue
        rows = slice(b * count, (b + 1) * count)
        q, k, v = (one[rows].transpose(0, 1) for one in split)
        positions = torch.arange(start, start + count, dtype=torch.float64)
        q, k = (_rotate(one, positions, a.rotary_embedding, a.rope_theta) for one in (q, k))
        keys[a.layer_id, b, :, start : start + count] = k
        values[a.layer_id, b, :, start : start + count] = v
        seen = torch.ones(count, start + count, dtype=torch.bool).tril(start)
        held = (cache[a.layer_id, b, :, : start + count][None] for cache in (keys, values))
        found = F.scaled_dot_product_attention(q[None], *held, attn_mask=seen, enable_gqa=True)[0]
        out[rows] = found.transpose(0, 1).reshape(count, heads * size)
    return {"inoutput": out, "key_cache": keys, "value_cache": values}


def _context(a: Arguments) -> dict[str, Any]:
    batch = a.key_cache.shape[1]
    return _attention(a, [a.max_kv_len - a.max_q_len] * batch, a.max_q_len)


def _decoder(a: Arguments) -> dict[str, Any]:
    lengths: list[int | None] = a.sequence_lengths.tolist()
    over = [False] * len(lengths) if a.finished is None else a.finished.tolist()
    return _attention(a, [None if end else length for length, end in zip(lengths, over, strict=True)], 1)


def _repetition(a: Arguments) -> dict[str, Any]:
    """As transformers' RepetitionPenaltyLogitsProcessor has it, over the tokens that are no padding."""
    positions = torch.arange(a.step)[:, None]
    prompts = a.max_input_length if a.input_lengths is None else a.input_lengths
    ids = a.output_ids[: a.step]
    held = ~((positions >= prompts) & (positions < a.max_input_length)) & (ids >= 0) & (ids < a.vocab_size)
    count = torch.zeros(a.batch_size, a.vocab_size + 1, dtype=torch.long)
    count.scatter_add_(1, torch.where(held, ids, a.vocab_size).T, torch.ones_like(ids).T)
    penalties = a.penalties[:, None]
    changed = torch.where(a.logits < 0, a.logits * penalties, a.logits / penalties)
    found = {0: a.logits, 1: a.logits - penalties, 2: changed}[a.penalty_type]
    return {"logits": torch.where(count[:, : a.vocab_size] > 0, found, a.logits)}


def _temperature(a: Arguments) -> dict[str, Any]:
    lowest = torch.finfo(getattr(torch, a.call.dtype("logits"))).min
    logits = a.logits[:, : a.vocab_size] + (0 if a.bias is None else a.bias[: a.vocab_size])
    divided = logits / (a.temperatures[:, None] + 1e-6)
    return {"logits": F.pad(divided, (0, a.vocab_size_padd - a.vocab_size), value=lowest)}


def _gather(a: Arguments) -> dict[str, Any]:
    out = torch.from_numpy(np.array(a.call["output_ids"])).long()
    for b in range(a.batch_size):
        prompt = a.ids[: min(int(a.context_length[b]), a.max_gen_step), b]
        tokens = torch.cat([prompt, a.ids[a.max_context_len : a.max_gen_step, b]])[: a.max_output_len]
        out[b, : len(tokens)] = tokens
    return {"output_ids": out}


def _length(a: Arguments) -> dict[str, Any]:
    ended = a.finished | (a.sequence_limit_length <= a.step)
    return {"finished": ended, "should_stop": ended.all()[None], "finished_sum": ended.sum()[None]}


TORCH: dict[str, Reference] = {
    "FusedSiluFfnInp": _ffn,
    "RootMeanSquareNormInp": lambda a: {"inoutput": F.rms_norm(a.inoutput, a.inoutput.shape[-1:], a.scale, a.eps)},
    "FusedAddRootMeanSquareNormInp": _add_norm,
    "FusedContextAttentionInp": _context,
    "FusedDecoderAttentionInp": _decoder,
    "BatchApplyRepetitionPenaltyInp": _repetition,
    "BatchApplyTemperaturePenaltyInp": _temperature,
    "TransposeAxis01": lambda a: {"output": a.input.transpose(0, 1)},
    "EmbeddingLookupPosEncoding": lambda a: {"from_tensor": F.embedding(a.all_ids[a.step], a.embedding_table)},
    "InputIdsEmbeddingLookupPosEncoding": lambda a: {"from_tensor": F.embedding(a.input_ids, a.embedding_table)},
    "GatherOutput": _gather,
    "LengthCriterion": _length,
}


@pytest.mark.parametrize("operator", TORCH)
def test_an_oracle_agrees_with_torch(operator: str, interface: Interface) -> None:
    compare(interface, f"diopi{operator}", TORCH[operator])
