"""The steps of serving a language model: rotation by position, penalties, caches of keys and values."""

from __future__ import annotations

import math

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.oracles.attention import Scores, visible, weighted
from diopigen.conformance.products import product, size_of_product


@oracle("RotaryEmbeddingV2")
def _rotary_in_place(call: Call) -> Answer:
    size = int(call["dim"])

    def rotated(name: str) -> Expected:
        x = call.wide(name)
        heads = x.reshape(len(x), -1, size)
        cosine, sine = (call.wide(angle).reshape(len(x), 1, size) for angle in ("cos", "sin"))
        swapped = np.concatenate([-heads[..., size // 2 :], heads[..., : size // 2]], axis=-1)
        terms = np.abs(heads * cosine) + np.abs(swapped * sine)
        return Expected((heads * cosine + swapped * sine).reshape(x.shape), terms.reshape(x.shape), 2)

    return {"query": rotated("query"), "key": rotated("key")}


@oracle("ApplyPenalty")
def _penalty(call: Call) -> Answer:
    logits = call.wide("logits").copy()
    size = np.abs(logits)
    starts = call["p_cumsum_seq_len"]
    for b in range(len(logits)):
        for i in range(int(starts[b]), int(starts[b + 1])):
            token, count = int(call["p_token_ids"][i]), float(call["p_token_counts"][i])
            presence, frequency = call.wide("presence_penalty")[b], call.wide("frequency_penalty")[b]
            logits[b, token] -= presence + frequency * count
            size[b, token] += abs(presence) + abs(frequency * count)
    return {"logits": Expected(logits, size, 3)}


@oracle("ApplyPenaltyV2")
def _penalty_at_positions(call: Call) -> Answer:
    positions, counts = call["p_token_ids"].astype(np.int64), call["p_token_counts"].astype(np.float64)
    presence, frequency, repetition = (
        np.broadcast_to(call.wide(f"{kind}_penalty"), positions.shape)
        for kind in ("presence", "frequency", "repetition")
    )
    logits = call.wide("logits")
    found, size = logits.ravel().copy(), np.abs(logits).ravel()
    before = found[positions]
    repeated = np.where(before > 0, before / repetition, before * repetition)
    found[positions] = repeated - presence - frequency * counts
    size[positions] = np.abs(repeated) + np.abs(presence) + np.abs(frequency * counts)
    return {"logits": Expected(found.reshape(logits.shape), size.reshape(logits.shape), 3)}


def _hidden(call: Call, shape: tuple[int, ...]) -> Array:
    """The scores that a masked softmax hides."""
    if call["fixed_triu_mask"]:
        return np.broadcast_to(np.triu(np.ones(shape[-2:], dtype=bool), 1), shape)
    return np.broadcast_to(np.asarray(call["mask"]) != 0, shape)


@oracle("ScaledMaskedSoftmax")
def _masked_softmax(call: Call) -> Answer:
    x = call.wide("input")
    scores = np.where(_hidden(call, x.shape), -10000.0, call["scale"] * x)
    distance = scores - scores.max(axis=-1, keepdims=True, initial=-np.inf)
    shares = np.exp(distance)
    found = shares / shares.sum(axis=-1, keepdims=True)
    return {"output": Expected(found, found * (1 + np.abs(distance)), x.shape[-1])}


@oracle("ScaledMaskedSoftmaxBackward")
def _masked_softmax_backward(call: Call) -> Answer:
    gradient, p, scale = call.wide("grad_output"), call.wide("output"), float(call["scale"])
    total = (gradient * p).sum(axis=-1, keepdims=True)
    hidden = _hidden(call, p.shape)
    found = np.where(hidden, 0, scale * p * (gradient - total))
    size = np.abs(scale * p) * (np.abs(gradient) + np.abs(gradient * p).sum(axis=-1, keepdims=True))
    return {"grad_input": Expected(found, np.where(hidden, 0, size), p.shape[-1], signed_zero=False)}


# ---- caches ---------------------------------------------------------------------------------------------------------


@oracle("DestIndexCopyKV")
def _copy_to_slots(call: Call) -> Answer:
    cache = np.array(call["out"])
    for token, slot in enumerate(call["dest_loc"]):
        cache[int(slot)] = call["k"][token]
    return {"out": Expected(cache)}


def _slots(call: Call, b: int) -> tuple[Array, slice]:
    """The slots of a sequence, and the columns of its scores."""
    length, start, end = int(call["b_seq_len"][b]), int(call["b_start_loc"][b]), int(call["max_input_len"])
    return call["b_loc"][b, end - length : end].astype(np.int64), slice(start, start + length)


@oracle("TokenAttentionInference")
def _token_scores(call: Call) -> Answer:
    q, k = call.wide("q"), call.wide("k")
    found = call.wide("token_attention_out").copy()
    size = np.abs(found)
    scale = 1 / math.sqrt(q.shape[2])
    for b in range(len(q)):
        slots, columns = _slots(call, b)
        found[:, columns] = scale * np.einsum("hd,khd->hk", q[b], k[slots])
        size[:, columns] = scale * np.einsum("hd,khd->hk", np.abs(q[b]), np.abs(k[slots]))
    return {"token_attention_out": Expected(found, size, q.shape[2])}


@oracle("TokenSoftmaxReduceVInference")
def _token_values(call: Call) -> Answer:
    logits, v = call.wide("logics"), call.wide("v")
    shape = call.shapes["out"]
    found, size, narrowed = (np.zeros(shape, v.dtype) for _ in range(3))
    for b in range(shape[0]):
        slots, columns = _slots(call, b)
        scores = logits[:, None, columns]
        seen = np.ones(scores.shape, dtype=bool)
        sums = weighted(Scores(scores, np.abs(scores), seen), v[slots], call.dtype("v"))
        found[b], size[b], narrowed[b] = (one[0] for one in sums)
    return {"out": Expected(found, size, shape[2] + int(call["max_input_len"]), narrowed=narrowed)}


@oracle("ContextAttentionInference")
def _context(call: Call) -> Answer:
    q, k, v = (call.wide(name) for name in ("q", "k", "v"))
    found = call.wide("context_attention_out").copy()
    size, narrowed = np.abs(found), np.zeros(found.shape)
    for start, length in zip(call["b_start_loc"], call["b_seq_len"], strict=True):
        rows = slice(int(start), int(start) + int(length))
        seen = visible(int(length), int(length), -1, 0)
        scores = Scores.of(q[rows], k[rows], 1 / math.sqrt(q.shape[2]), seen)
        found[rows], size[rows], narrowed[rows] = weighted(scores, v[rows], call.dtype("v"))
    terms = q.shape[2] + int(call["max_input_len"])
    return {"context_attention_out": Expected(found, size, terms, narrowed=narrowed)}


@oracle("PagedAttention")
def _paged(call: Call) -> Answer:
    heads, kv_heads, dim = (int(call[name]) for name in ("num_heads", "num_kv_heads", "dim"))
    block = int(call["block_size"])
    lengths = [int(length) for length in call["actual_seq_lengths"]]
    q = call.wide("q").reshape(-1, 1, heads, dim)
    k, v = (call.wide(name).reshape(-1, kv_heads, dim) for name in ("k", "v"))
    hidden = np.zeros((len(q), heads, 1, max(lengths, default=0)), dtype=bool)
    if call.has("attenMask"):
        mask = np.asarray(call["attenMask"]).astype(bool)
        hidden = np.broadcast_to(mask[:, None, None] if mask.ndim == 2 else mask, hidden.shape)
    found, size, narrowed = (np.zeros_like(q) for _ in range(3))
    for b, length in enumerate(lengths):
        tokens = np.arange(length)
        rows = call["block_table"][b].astype(np.int64)[tokens // block] * block + tokens % block
        scores = Scores.of(q[b], k[rows], 1 / math.sqrt(dim), ~hidden[b, :, :, :length])
        found[b], size[b], narrowed[b] = weighted(scores, v[rows], call.dtype("v"))
    shape, terms = call["q"].shape, dim + hidden.shape[3]
    return {"out": Expected(found.reshape(shape), size.reshape(shape), terms, narrowed=narrowed.reshape(shape))}


@oracle("PromptFlashAttention")
def _prompt(call: Call) -> Answer:
    heads, kv_heads, dim, longest = (int(call[name]) for name in ("num_heads", "num_kv_heads", "dim", "max_input_len"))
    q = call.wide("query").reshape(-1, longest, heads, dim)
    k, v = (call.wide(name).reshape(-1, longest, kv_heads, dim) for name in ("key", "value"))
    hidden = np.zeros((len(q), heads, longest, longest), dtype=bool)
    if call.has("atten_mask"):
        mask = np.asarray(call["atten_mask"]).astype(bool)
        hidden = np.broadcast_to(mask[:, None] if mask.ndim == 3 else mask, hidden.shape)
    found, size, narrowed = (np.zeros_like(q) for _ in range(3))
    for b, length in enumerate(int(length) for length in call["actual_seq_lengths"]):
        seen = ~hidden[b, :, :length, :length]
        scores = Scores.of(q[b, :length], k[b, :length], 1 / math.sqrt(dim), seen)
        own = (b, slice(0, length))
        found[own], size[own], narrowed[own] = weighted(scores, v[own], call.dtype("value"))
    shape = call["query"].shape
    return {"out": Expected(found.reshape(shape), size.reshape(shape), dim + longest, narrowed=narrowed.reshape(shape))}


@oracle("MatmulAllReduce")
def _matmul_all_reduce(call: Call) -> Answer:
    """One rank alone: the product is its own sum."""
    a, b = call.wide("x1"), call.wide("x2")
    found, size = product(a, b), size_of_product(a, b)
    if call.has("bias"):
        found, size = found + call.wide("bias"), size + np.abs(call.wide("bias"))
    return {"out": Expected(found, size, a.shape[-1] + 1)}
