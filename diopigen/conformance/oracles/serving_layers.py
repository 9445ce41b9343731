"""The layers of a served language model: norms, the gated feed-forward layer, attention over caches, penalties.

Fused operators hand values from one step to the next. A kernel may round these to the dtype of the operands, as those
that call one product after the other do: `narrowed` holds what such a rounding of each is relative to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, Property, oracle
from diopigen.conformance.oracles.attention import Scores
from diopigen.conformance.products import product, size_of_product
from diopigen.contract.dtypes import LARGEST, SMALLEST_NORMAL


def asks_for_size(call: Call, *memories: str) -> bool:
    """Returns whether a memory is null or a size negative: then a call only sets the sizes."""
    return any(not call.has(name) or int(call[f"{name}_size"]) < 0 for name in memories)


def sizes_of(*memories: str) -> Answer:
    """Result of a call that queries sizes: the number of bytes is up to the library."""

    def complaint(found: Array) -> str | None:
        size = int(found)
        return f"the size of a memory is {size}" if size < 0 else None

    return {f"{name}_size": Property(complaint) for name in memories}


def unchanged(call: Call, *names: str) -> Answer:
    """Outputs that a call leaves as they are."""
    return {name: Expected(np.asarray(call[name])) for name in names if call.has(name)}


# ---- norms ----------------------------------------------------------------------------------------------------------


def _by_rms(x: Array, scale: Array, eps: float) -> Array:
    mean = (x * x).sum(axis=-1, keepdims=True) / max(x.shape[-1], 1)
    return np.asarray(x / np.sqrt(mean + eps) * scale)


@oracle("RootMeanSquareNormInp")
def _rms(call: Call) -> Answer:
    found = _by_rms(call.wide("inoutput"), call.wide("scale"), float(call["eps"]))
    return {"inoutput": Expected(found, terms=found.shape[-1], narrowed=np.abs(found))}


@oracle("FusedAddRootMeanSquareNormInp")
def _add_and_rms(call: Call) -> Answer:
    layer, residual = call.wide("inoutput"), call.wide("residual")
    bias = call.wide("bias") if call.has("bias") else np.zeros(layer.shape[-1])
    scale, eps = call.wide("scale"), float(call["eps"])
    total = residual + layer + bias
    size = np.abs(residual) + np.abs(layer) + np.abs(bias)
    # What is relative to the size of the sum is so after the division, and so is the root of the mean of squares.
    mean = (total * total).sum(axis=-1, keepdims=True) / max(total.shape[-1], 1) + eps
    unsure = (np.abs(total) * size).sum(axis=-1, keepdims=True) / max(total.shape[-1], 1) / mean
    factor = np.abs(scale) / np.sqrt(mean)
    found = _by_rms(total, scale, eps)
    return {
        "residual": Expected(total, size, 3),
        "inoutput": Expected(
            found, factor * (size + np.abs(total) * unsure), total.shape[-1], narrowed=2 * np.abs(found)
        ),
    }


# ---- the feed-forward layer ------------------------------------------------------------------------------------------


@oracle("FusedSiluFfnInp")
def _silu_ffn(call: Call) -> Answer:
    if asks_for_size(call, "workspace"):
        return {**sizes_of("workspace"), **unchanged(call, "inoutput")}
    x, first, second, third = (call.wide(name) for name in ("inoutput", "weight1", "weight2", "weight3"))
    gate, up = product(x, first), product(x, third)
    gate_size, up_size = size_of_product(x, first), size_of_product(x, third)
    sigmoid = 1 / (1 + np.exp(-gate))
    hidden = gate * sigmoid * up
    # silu(x + d) is silu(x) + d silu'(x), and |silu'| is at most 1.1.
    unsure = 1.1 * gate_size * np.abs(up) + np.abs(gate * sigmoid) * up_size
    rounded = 1.1 * np.abs(gate * up) + 2 * np.abs(hidden) + SMALLEST_NORMAL[call.dtype("inoutput")]
    terms = x.shape[1] + second.shape[0]
    return {
        "inoutput": Expected(
            product(hidden, second),
            product(unsure + np.abs(hidden), np.abs(second)),
            terms,
            narrowed=product(rounded, np.abs(second)),
        )
    }


# ---- attention ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Wide:
    """Numbers, the size of the terms that they are sums of, and what roundings of them are relative to."""

    values: Array
    size: Array
    rounded: Array

    def __getitem__(self, index: Any) -> _Wide:
        return _Wide(self.values[index], self.size[index], self.rounded[index])


def _projected(call: Call) -> tuple[_Wide, _Wide, _Wide]:
    """Queries, keys and values of the new tokens, [tokens, heads, size], not yet rotated."""
    x, weight = call.wide("inoutput"), call.wide("qkv_weight")
    bias = call.wide("qkv_bias") if call.has("qkv_bias") else np.zeros(weight.shape[1])
    before = product(x, weight)
    values, size = before + bias, size_of_product(x, weight) + np.abs(bias)
    rounded = np.abs(before) + np.abs(values)  # after the product and after the bias
    heads, kv_heads, width = (int(call[name]) for name in ("local_head_num", "local_kv_head_num", "size_per_head"))
    every = _Wide(*(array.reshape(len(x), heads + 2 * kv_heads, width) for array in (values, size, rounded)))
    return every[:, :heads], every[:, heads : heads + kv_heads], every[:, heads + kv_heads :]


def _rotated(call: Call, tokens: _Wide, positions: Sequence[int]) -> _Wide:
    """Pairs 2i and 2i + 1 of the leading elements, rotated by position * theta ** (-2i / n). Angles in float32 are off
    by a rounding of their own size."""
    count = int(call["rotary_embedding"])
    pairs = np.arange(count // 2)
    angles = np.asarray(positions, dtype=np.float64)[:, None] * float(call["rope_theta"]) ** (
        -2 * pairs / max(count, 1)
    )
    cosine, sine = np.cos(angles)[:, None, :], np.sin(angles)[:, None, :]
    found = [array.copy() for array in (tokens.values, tokens.size, tokens.rounded)]
    first, second = (tokens.values[..., start:count:2] for start in (0, 1))
    found[0][..., 0:count:2] = first * cosine - second * sine
    found[0][..., 1:count:2] = first * sine + second * cosine
    for which, factor in ((1, 1 + np.abs(angles)[:, None, :]), (2, 1.0)):
        size = (tokens.values, tokens.size, tokens.rounded)[which]
        one, other = size[..., 0:count:2], size[..., 1:count:2]
        found[which][..., 0:count:2] = (one * np.abs(cosine) + other * np.abs(sine)) * factor
        found[which][..., 1:count:2] = (one * np.abs(sine) + other * np.abs(cosine)) * factor
    return _Wide(found[0], found[1], found[2] + np.abs(found[0]))


def _attended(q: _Wide, k: _Wide, v: _Wide, factor: float, seen: Array) -> Iterator[Array]:
    """The weighted sums of values, [queries, heads, size], the size of their terms, and what roundings of queries,
    keys, values and probabilities are relative to."""
    group = q.values.shape[1] // max(k.values.shape[1], 1)
    k, v = (_Wide(*(np.repeat(a, group, axis=1) for a in (one.values, one.size, one.rounded))) for one in (k, v))
    p = Scores(*_scores(q, k, factor, seen)).probabilities

    def total(weights: Array, values: Array) -> Array:
        return np.asarray(np.einsum("hqk,khd->qhd", weights, values))

    def of_scores(of_q: Array, of_k: Array) -> Array:
        """An error in a score changes its probability in proportion, and all the others through the sum."""
        off = factor * (
            np.einsum("qhd,khd->hqk", of_q, np.abs(k.values)) + np.einsum("qhd,khd->hqk", np.abs(q.values), of_k)
        )
        return np.asarray(p * (off + (p * off).sum(axis=2, keepdims=True)))

    size = np.abs(v.values)
    yield total(p, v.values)
    yield total(of_scores(q.size, k.size) + 2 * p, size) + total(p, v.size)
    yield total(of_scores(q.rounded, k.rounded) + p, size) + total(p, v.rounded)


def _scores(q: _Wide, k: _Wide, factor: float, seen: Array) -> Iterator[Array]:
    values = factor * np.einsum("qhd,khd->hqk", q.values, k.values)
    yield values
    yield factor * np.einsum("qhd,khd->hqk", np.abs(q.values), np.abs(k.values))
    yield np.broadcast_to(seen, values.shape)


def _over_caches(call: Call, new: Sequence[tuple[int, slice, int]]) -> Answer:
    """The answer of an attention where for each of some sequences some rows are new, from a position on."""
    layer = int(call["layer_id"])
    q, k, v = _projected(call)
    width, heads = int(call["size_per_head"]), int(call["local_head_num"])
    out = {name: call.wide("inoutput").copy() for name in ("values", "size", "narrowed")}
    out["size"], out["narrowed"] = np.abs(out["size"]), np.zeros_like(out["narrowed"])
    caches = {name: call.wide(name).copy() for name in ("key_cache", "value_cache")}
    sizes = {name: np.abs(cache) for name, cache in caches.items()}
    rounded = {name: np.zeros_like(cache) for name, cache in caches.items()}
    for sequence, rows, start in new:
        count = rows.stop - rows.start
        positions = range(start, start + count)
        own = {"key_cache": _rotated(call, k[rows], positions), "value_cache": v[rows]}
        held = {}
        for name, tokens in own.items():
            at = (layer, sequence, slice(None), slice(start, start + count))
            caches[name][at] = np.swapaxes(tokens.values, 0, 1)
            sizes[name][at] = np.swapaxes(tokens.size, 0, 1)
            rounded[name][at] = np.swapaxes(tokens.rounded, 0, 1)
            every = (layer, sequence, slice(None), slice(0, start + count))
            held[name] = _Wide(*(np.swapaxes(one[name][every], 0, 1) for one in (caches, sizes, rounded)))
        # What has been cached is rounded once more.
        keys, values = (_Wide(one.values, one.size, one.rounded + np.abs(one.values)) for one in held.values())
        seen = np.arange(start + count) <= np.asarray(positions)[:, None]
        found = _attended(_rotated(call, q[rows], positions), keys, values, 1 / math.sqrt(width), seen[None])
        for name, array in zip(out, found, strict=True):
            out[name][rows] = array.reshape(count, heads * width)
    terms = call.shapes["inoutput"][1] + width + int(call["max_seq_len"])
    answer = {"inoutput": Expected(out["values"], out["size"], terms, narrowed=out["narrowed"])}
    for name, cache in caches.items():
        answer[name] = Expected(cache, sizes[name], terms, narrowed=rounded[name])
    return answer


@oracle("FusedContextAttentionInp")
def _context(call: Call) -> Answer:
    if asks_for_size(call, "pre_work", "workspace"):
        return {**sizes_of("pre_work", "workspace"), **unchanged(call, "inoutput", "key_cache", "value_cache")}
    count, start = int(call["max_q_len"]), int(call["max_kv_len"]) - int(call["max_q_len"])
    batch = call.shapes["key_cache"][1]
    return _over_caches(call, [(b, slice(b * count, (b + 1) * count), start) for b in range(batch)])


@oracle("FusedDecoderAttentionInp")
def _decoder(call: Call) -> Answer:
    if asks_for_size(call, "workspace"):
        return {**sizes_of("workspace"), **unchanged(call, "inoutput", "key_cache", "value_cache")}
    batch = call.shapes["inoutput"][0]
    over = call["finished"] if call.has("finished") else np.zeros(batch, dtype=bool)
    return _over_caches(
        call, [(b, slice(b, b + 1), int(call["sequence_lengths"][b])) for b in range(batch) if not over[b]]
    )


# ---- penalties ------------------------------------------------------------------------------------------------------


@oracle("BatchApplyRepetitionPenaltyInp")
def _repetition(call: Call) -> Answer:
    logits, kind = call.wide("logits").copy(), int(call["penalty_type"])
    size = np.abs(logits)
    longest = int(call["max_input_length"])
    for b in range(len(logits)):
        prompt = int(call["input_lengths"][b]) if call.has("input_lengths") else longest
        ids = call["output_ids"][: int(call["step"]), b].tolist()
        held = {token for at, token in enumerate(ids) if not prompt <= at < longest and 0 <= token < logits.shape[1]}
        penalty = call.wide("penalties")[b]
        for token in held if kind else ():
            logit = logits[b, token]
            scaled = logit / penalty if logit > 0 else logit * penalty
            logits[b, token] = logit - penalty if kind == 1 else scaled
            size[b, token] = abs(logit) + abs(penalty) if kind == 1 else abs(scaled)
    return {"logits": Expected(logits, size, signed_zero=False)}


@oracle("BatchApplyTemperaturePenaltyInp")
def _temperature(call: Call) -> Answer:
    logits, count = call.wide("logits"), int(call["vocab_size"])
    found, size = np.full(logits.shape, -LARGEST[call.dtype("logits")]), np.zeros(logits.shape)
    bias = call.wide("bias")[:count] if call.has("bias") else np.zeros(count)
    divisors = call.wide("temperatures")[:, None] + 1e-6
    found[:, :count] = (logits[:, :count] + bias) / divisors
    size[:, :count] = (np.abs(logits[:, :count]) + np.abs(bias)) / np.abs(divisors)
    return {"logits": Expected(found, size, 3)}
