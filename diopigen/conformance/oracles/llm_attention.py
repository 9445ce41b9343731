"""The oracles of attention over caches of blocks: one request at a time, with its keys gathered in order."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.oracles.attention import Scores, linear_bias, visible, weighted
from diopigen.contract.dtypes import SMALLEST_NORMAL


def gathered(cache: Array, blocks: Array, length: int) -> Array:
    """The first `length` slots of the blocks, [length, heads, size]."""
    rows = cache[blocks].reshape(-1, *cache.shape[2:])
    return np.asarray(rows[:length])


def _scores(call: Call, q: Array, k: Array) -> Scores:
    """Scores of a request whose tokens are the last of its keys."""
    count, length = len(q), len(k)
    right = 0 if call["is_causal"] else int(call["window_size_right"])
    seen = visible(count, length, int(call["window_size_left"]), right)
    scores = Scores.of(q, k, float(call["softmax_scale"]), seen)
    values, size, cap = scores.values, scores.size, float(call["softcap"])
    if cap > 0:
        values, size = cap * np.tanh(values / cap), size + cap
    if call.has("alibi_slopes"):
        bias = linear_bias(call.wide("alibi_slopes"), count, length)
        values, size = values + bias, size + np.abs(bias)
    return Scores(values, size, scores.seen)


def _with_sink(scores: Scores, sinks: Array) -> Scores:
    """A further key that every token sees."""
    column = np.broadcast_to(sinks[:, None, None], (*scores.values.shape[:2], 1))
    return Scores(
        np.concatenate([scores.values, column], axis=2),
        np.concatenate([scores.size, np.abs(column)], axis=2),
        np.concatenate([scores.seen, np.ones(column.shape, dtype=bool)], axis=2),
    )


def _scaled(call: Call, name: str) -> Array:
    """A cache times its scale."""
    cache, scale = call.wide(f"{name}_cache"), f"{name}_scale"
    return cache * call.wide(scale) if call.has(scale) else cache


@oracle("PagedAttentionVarLen")
def _paged_attention(call: Call) -> Answer:
    query, keys, cached = call.wide("query"), _scaled(call, "key"), _scaled(call, "value")
    starts, lengths, table = (np.asarray(call[name]) for name in ("query_start_loc", "seq_lens", "block_table"))
    out = call.wide("out").copy()
    size, narrowed = np.abs(out), np.zeros(out.shape)
    lse = call.wide("softmax_lse").copy() if call.has("softmax_lse") else np.zeros((query.shape[1], len(query)))
    lse_size = 1 + np.abs(lse)
    for request, length in enumerate(lengths.tolist()):
        tokens = slice(int(starts[request]), int(starts[request + 1]))
        if tokens.start == tokens.stop:
            continue
        k, v = (gathered(cache, table[request], length) for cache in (keys, cached))
        scores = _scores(call, query[tokens], k)
        if call.has("sinks"):
            scores = _with_sink(scores, call.wide("sinks"))
            v = np.concatenate([v, np.zeros((1, *v.shape[1:]))])
        out[tokens], size[tokens], narrowed[tokens] = weighted(scores, v, call.dtype("query"))
        lse[:, tokens] = scores.log_sum
        lse_size[:, tokens] = 1 + np.abs(scores.log_sum) + scores.size.max(axis=2, initial=0)
    terms = query.shape[-1] + int(lengths.max(initial=0)) + 1
    found = {"out": Expected(out, size, terms, narrowed=narrowed)}
    if call.has("softmax_lse"):
        found["softmax_lse"] = Expected(lse, lse_size, terms)
    return found


@oracle("MergeAttentionStates")
def _merge_states(call: Call) -> Answer:
    logs = np.stack([call.wide("prefix_lse"), call.wide("suffix_lse")])
    largest = logs.max(axis=0)
    is_blind = np.isneginf(largest)
    shifted = logs - np.where(is_blind, 0, largest)
    weights = np.exp(shifted)
    total = np.where(is_blind, 1, weights.sum(axis=0))
    weights = (weights / total).transpose(0, 2, 1)[..., None]
    outputs = np.stack([call.wide("prefix_output"), call.wide("suffix_output")])
    terms = np.where(weights > 0, weights * outputs, 0)
    # An error in a logarithm changes its weight in proportion.
    unsure = 2 + 2 * np.abs(np.where(weights > 0, shifted.transpose(0, 2, 1)[..., None], 0))
    size = (np.abs(terms) * unsure).sum(axis=0)
    narrowed = (np.abs(outputs) * SMALLEST_NORMAL[call.dtype("prefix_output")] + np.abs(terms)).sum(axis=0)
    found = {"out": Expected(terms.sum(axis=0), size, 2, narrowed=narrowed)}
    if call.has("out_lse"):
        values = np.where(is_blind, -np.inf, largest + np.log(total))
        found["out_lse"] = Expected(values, 1 + np.abs(np.where(is_blind, 0, largest)), 2)
    return found
