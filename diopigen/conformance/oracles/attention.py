"""Attention and its gradients, one sequence and all its heads at a time, with the whole matrix of scores in sight."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, Property, oracle
from diopigen.contract.dtypes import SMALLEST_NORMAL


def visible(queries: int, keys: int, left: int, right: int) -> Array:
    """Keys that each query attends to: a bottom-right aligned band, where query i has its diagonal at key i + keys -
    queries; negative windows have no end."""
    distance = np.arange(keys) - (np.arange(queries)[:, None] + keys - queries)
    seen = np.ones((queries, keys), dtype=bool)
    if left >= 0:
        seen &= distance >= -left
    if right >= 0:
        seen &= distance <= right
    return seen


def linear_bias(slopes: Array, queries: int, keys: int) -> Array:
    """-slope * distance for every head, [heads, queries, keys]."""
    distance = np.abs(np.arange(keys) - (np.arange(queries)[:, None] + keys - queries))
    return np.asarray(-slopes[:, None, None] * distance)


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of one sequence, [heads, queries, keys], with the size of the terms that made them up."""

    values: Array
    size: Array
    seen: Array

    @staticmethod
    def of(q: Array, k: Array, scale: float, seen: Array, bias: Array | None = None) -> Scores:
        """`q` is [queries, heads, d], `k` [keys, kv_heads, d]; `seen` and `bias` broadcast to the scores."""
        shared = np.repeat(k, q.shape[1] // max(k.shape[1], 1), axis=1)
        values = scale * np.einsum("qhd,khd->hqk", q, shared)
        size = abs(scale) * np.einsum("qhd,khd->hqk", np.abs(q), np.abs(shared))
        if bias is not None:
            values, size = values + bias, size + np.abs(bias)
        return Scores(values, size, np.broadcast_to(seen, values.shape))

    @property
    def is_blind(self) -> Array:
        """Queries that see no key, [heads, queries]."""
        return np.asarray(~self.seen.any(axis=2))

    @property
    def maximum(self) -> Array:
        """The largest score of each query, [heads, queries]; -inf for one that sees no key."""
        return np.asarray(np.where(self.seen, self.values, -np.inf).max(axis=2, initial=-np.inf))

    def exponentials(self, shift: Array) -> Array:
        """exp(score - shift), 0 where a key is hidden; `shift` is [heads, queries]."""
        inside = np.where(self.seen, self.values - shift[:, :, None], -np.inf)
        return np.asarray(np.exp(inside))

    @property
    def sums(self) -> Array:
        """The sum of the exponentials of the distances to the maximum, [heads, queries]."""
        return np.asarray(self.exponentials(np.where(self.is_blind, 0, self.maximum)).sum(axis=2))

    @property
    def probabilities(self) -> Array:
        """Softmax over the keys that are seen; zero for a query that sees none."""
        sums = self.sums[:, :, None]
        shift = np.where(self.is_blind, 0, self.maximum)
        return np.asarray(self.exponentials(shift) / np.where(sums == 0, 1, sums))

    @property
    def log_sum(self) -> Array:
        """Logarithm of the sum of exponentials; +inf for a query that sees no key."""
        return np.asarray(np.where(self.is_blind, np.inf, self.maximum + np.log(self.sums)))


def _narrowed(factor: Array, dtype: str, among: Array | bool = True) -> Array:
    """Reference magnitude of a rounding to a dtype: the factor's magnitude, or the smallest normal number if that is
    larger, for factors that are at most 1 before they are divided by their sum."""
    return np.asarray(np.where(among, np.abs(factor) + SMALLEST_NORMAL[dtype], 0))


def weighted(scores: Scores, v: Array, dtype: str) -> tuple[Array, Array, Array]:
    """The weighted sums of values of a dtype, [queries, heads, d], the size of their terms, and what roundings of the
    probabilities to that dtype are relative to."""
    p = scores.probabilities
    shared = np.repeat(v, p.shape[0] // max(v.shape[1], 1), axis=1)
    # An error in a score changes its probability in proportion, and all the others through the sum.
    unsure = p * (2 + scores.size + (p * scores.size).sum(axis=2, keepdims=True))
    return (
        np.asarray(np.einsum("hqk,khd->qhd", p, shared)),
        np.asarray(np.einsum("hqk,khd->qhd", unsure, np.abs(shared))),
        np.asarray(np.einsum("hqk,khd->qhd", _narrowed(p, dtype, scores.seen), np.abs(shared))),
    )


Pair = tuple[Array, Array]
"""Values, and the size of the terms that they are made of."""
Sums = tuple[Array, Array, Array, Array, float]
"""The same, the sum of the squares of the terms that dropout draws, what roundings of one factor to the operands' dtype
are relative to, and the variance of the projection on the values for dropout with a variance of 1."""


def gradients(
    scale: float,
    dtype: str,
    p: Array,
    unsure: Array,
    q: Array,
    k: Array,
    v: Array,
    out: Array,
    grad_out: Array,
) -> tuple[Sums, Sums, Sums]:
    """Gradients with respect to q, k and v, of a dtype, for probabilities `p` of relative uncertainty `unsure`."""
    heads, kv_heads = q.shape[1], k.shape[1]
    group = heads // max(kv_heads, 1)
    keys, values = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)

    def to_kv(per_head: Array) -> Array:
        return np.asarray(per_head.reshape(len(k), kv_heads, group, k.shape[2]).sum(axis=2))

    to_p = np.einsum("qhd,khd->hqk", grad_out, values)
    centre = np.einsum("qhd,qhd->hq", grad_out, out)[:, :, None]
    to_p_size = np.einsum("qhd,khd->hqk", np.abs(grad_out), np.abs(values))
    centre_size = np.einsum("qhd,qhd->hq", np.abs(grad_out), np.abs(out))[:, :, None]
    to_score = scale * p * (to_p - centre)
    to_score_size = abs(scale) * p * (2 + unsure) * (to_p_size + centre_size)
    drawn = (scale * p * to_p) ** 2
    seen = p > 0
    narrow_p, narrow_score = _narrowed(p, dtype, seen), abs(scale) * _narrowed(p * (to_p - centre), dtype, seen)
    grad_q = np.einsum("hqk,khd->qhd", to_score, keys)
    grad_k = to_kv(np.einsum("hqk,qhd->khd", to_score, q))
    grad_v = to_kv(np.einsum("hqk,qhd->khd", p, grad_out))

    def projected(terms: Array, on_queries: Array, on_keys: Array) -> float:
        """Every probability is dropped on its own: what each adds to the projection, squared and added up."""
        return float((terms * np.einsum("qhd,khd->hqk", on_queries, on_keys) ** 2).sum())

    return (
        (
            grad_q,
            np.einsum("hqk,khd->qhd", to_score_size, np.abs(keys)),
            np.einsum("hqk,khd->qhd", drawn, keys**2),
            np.einsum("hqk,khd->qhd", narrow_score, np.abs(keys)),
            projected(drawn, grad_q, keys),
        ),
        (
            grad_k,
            to_kv(np.einsum("hqk,qhd->khd", to_score_size, np.abs(q))),
            to_kv(np.einsum("hqk,qhd->khd", drawn, q**2)),
            to_kv(np.einsum("hqk,qhd->khd", narrow_score, np.abs(q))),
            projected(drawn, q, np.repeat(grad_k, group, axis=1)),
        ),
        (
            grad_v,
            to_kv(np.einsum("hqk,qhd->khd", p * (2 + unsure), np.abs(grad_out))),
            to_kv(np.einsum("hqk,qhd->khd", p**2, grad_out**2)),
            to_kv(np.einsum("hqk,qhd->khd", narrow_p, np.abs(grad_out))),
            projected(p**2, grad_out, np.repeat(grad_v, group, axis=1)),
        ),
    )


# ---- operators as batches of sequences ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """Location of one sequence: its number, and indices into arrays of queries and of keys."""

    number: int
    queries: tuple[int | slice, ...]
    keys: tuple[int | slice, ...]


def _padded(call: Call) -> Iterator[Part]:
    for b in range(len(call["q"])):
        yield Part(b, (b,), (b,))


def _joined(starts_q: Array, starts_k: Array) -> Iterator[Part]:
    for b in range(len(starts_q) - 1):
        yield Part(
            b,
            (slice(int(starts_q[b]), int(starts_q[b + 1])),),
            (slice(int(starts_k[b]), int(starts_k[b + 1])),),
        )


def _parts(call: Call) -> list[Part]:
    if not call.has("cum_seq_q"):
        return list(_padded(call))
    name = "cum_seq_kv" if "cum_seq_kv" in call.values else "cum_seq_k"
    return list(_joined(np.asarray(call["cum_seq_q"]), np.asarray(call[name])))


def _option(call: Call, *names: str) -> float:
    return float(next(call[name] for name in names if name in call.values))


def _scores(call: Call, part: Part) -> Scores:
    """The scores of one sequence under the windows and the bias of the call."""
    q, k = call.wide("q")[part.queries], call.wide("k")[part.keys]
    left = int(call.values.get("window_size_left", -1))
    right = 0 if call["is_causal"] else int(call.values.get("window_size_right", -1))
    seen = visible(len(q), len(k), left, right)
    bias = None
    if call.has("alibi_slopes"):
        slopes = call.wide("alibi_slopes")
        bias = linear_bias(slopes if slopes.ndim == 1 else slopes[part.number], len(q), len(k))
    return Scores.of(q, k, _option(call, "softmax_scale", "scale"), seen, bias)


def near(actual: Array, expected: Array, size: Array) -> bool:
    """Returns whether float32 statistics are what they must be."""
    limit = 32 * np.finfo(np.float32).eps * (1 + np.abs(expected) + size)
    with np.errstate(invalid="ignore"):
        return bool(np.all((actual == expected) | (np.abs(actual - expected) <= limit)))


def scattered(values: Array, deviation: Array, projected: float, single: Array | None = None) -> Property:
    """The distribution of sums whose terms dropout has sampled: each element within eight deviations of its mean, all
    together with the deviation that the chance gives, and their projection on the means, which has the variance
    `projected`, where it must be: dropout that does not scale what it keeps shrinks the projection. `single` are
    results of one term each, by element: what the term is where it is kept, NaN for others."""

    def check(sample: Array) -> str | None:
        found = sample.astype(np.float64)
        if not np.all(np.isfinite(found)):
            return "there are numbers that are not finite"
        slack = 0.02 * np.abs(values) + 1e-3
        off = np.maximum(np.abs(found - values) - slack, 0) / np.maximum(deviation, 1e-12)
        if np.any(off > 8):
            return f"an element is {off.max():.3g} standard deviations from its mean"
        large = deviation > slack
        if np.count_nonzero(large) >= 64:
            spread = ((found - values)[large] / deviation[large]).std()
            if not 0.5 < spread < 1.7:
                return f"the elements scatter {spread:.3g} times as far from their means as dropout makes them"
        shift = float((values * (found - values)).sum())
        excess = max(abs(shift) - float((np.abs(values) * slack).sum()), 0) / max(math.sqrt(projected), 1e-12)
        if excess > 6:
            share = shift / float((values**2).sum())
            return f"the elements are {share:+.1%} of their means from them, {excess:.3g} deviations"
        if single is not None:
            retained = np.abs(found - single) <= 0.02 * np.abs(single)
            wrong = ~np.isnan(single) & (found != 0) & ~retained
            if np.any(wrong):
                term = f"{single[wrong][0]:.6g}, the term over 1 - p"
                return f"a sum of one term is {found[wrong][0]:.6g}, neither 0 nor {term}"
        return None

    return Property(check)


def odds(probability: float) -> float:
    """The variance of what dropout multiplies a probability by."""
    return probability / (1 - probability)


@dataclass(frozen=True, slots=True)
class Dropped:
    """Applies dropout to weighted sums, [queries, heads, d]: see `scattered`."""

    deviation: Array
    single: Array
    projected: float


def dropped(scores: Scores, v: Array, values: Array, dropout: float) -> Dropped:
    """The statistics of the weighted sums `values` of one sequence under a chance of dropout."""
    shared = np.repeat(v, scores.values.shape[0] // max(v.shape[1], 1), axis=1)
    squares = odds(dropout) * scores.probabilities**2
    ones = (scores.seen.sum(axis=2) == 1).T[:, :, None]
    return Dropped(
        np.sqrt(np.einsum("hqk,khd->qhd", squares, shared**2)),
        np.where(ones, values / (1 - dropout), np.nan),
        float((squares * np.einsum("qhd,khd->hqk", values, shared) ** 2).sum()),
    )


@oracle("FlashAttention", "FlashAttentionVarLen", "MultiHeadAttention", "MultiHeadAttentionVarLen")
def _attention(call: Call) -> Answer:
    out_name = "attention_out" if "attention_out" in call.dtypes else "out"
    dropout = _option(call, "p_dropout", "dropout_p")
    q = call.wide("q")
    values, size, narrowed, deviation = (np.zeros(q.shape) for _ in range(4))
    single, projected = np.full(q.shape, np.nan), 0.0
    log_sums = np.zeros(call.shapes["softmax_lse"])
    log_sizes, free = np.zeros(log_sums.shape), np.ones(log_sums.shape, dtype=bool)
    for part in _parts(call):
        scores = _scores(call, part)
        v = call.wide("v")[part.keys]
        values[part.queries], size[part.queries], narrowed[part.queries] = weighted(scores, v, call.dtype("v"))
        own = dropped(scores, v, values[part.queries], dropout)
        deviation[part.queries], single[part.queries] = own.deviation, own.single
        projected += own.projected
        rows = (part.number, slice(None), slice(0, scores.values.shape[1]))
        log_sums[rows] = scores.log_sum
        log_sizes[rows] = 1 + np.abs(np.where(scores.is_blind, 0, scores.log_sum))
        log_sizes[rows] += scores.size.max(axis=2, initial=0)
        free[rows] = False
    terms = q.shape[-1] + call["k"].shape[-3]
    # Elements behind the end of a sequence stay as they were.
    if call.has("softmax_lse"):
        log_sums = np.where(free, call.wide("softmax_lse"), log_sums)
    answer: dict[str, Expected | Property] = {
        "softmax_lse": Expected(log_sums, log_sizes, terms),
        out_name: scattered(values, deviation, projected, single)
        if dropout
        else Expected(values, size, terms, narrowed=narrowed),
    }
    if call.values.get("return_debug_mask"):
        answer["debug_attn_mask"] = _retained(call, dropout)
    return answer


def _retained(call: Call, dropout: float) -> Expected | Property:
    """Expected fraction of a dropout mask: all at a chance of 0, else in proportion."""
    shape = call.shapes["debug_attn_mask"]
    inside = np.zeros(shape, dtype=bool)
    for part in _parts(call):
        queries, keys = len(call["q"][part.queries]), len(call["k"][part.keys])
        inside[part.number, :, :queries, :keys] = True
    before = call["debug_attn_mask"]
    if dropout == 0:
        retained = np.ones(shape, dtype=bool) if before is None else np.asarray(before).astype(bool)
        return Expected(inside | retained)

    def check(sample: Array) -> str | None:
        if before is not None and np.any(sample[~inside] != np.asarray(before).astype(bool)[~inside]):
            return "elements behind the end of a sequence have changed"
        share, count = float(sample[inside].mean()), int(np.count_nonzero(inside))
        deviation = math.sqrt(dropout * (1 - dropout) / max(count, 1))
        if count and abs(share - (1 - dropout)) > 6 * deviation:
            return f"of {count} probabilities {share:.4f} are kept instead of {1 - dropout:.4f}"
        return None

    return Property(check)


@oracle(
    "FlashAttentionBackward",
    "FlashAttentionVarLenBackward",
    "MultiHeadAttentionBackward",
    "MultiHeadAttentionVarLenBackward",
)
def _attention_backward(call: Call) -> Answer:
    lse = call.wide("softmax_lse")

    def probabilities(part: Part, scores: Scores) -> Pair:
        shift = lse[part.number, :, : scores.values.shape[1]]
        return scores.exponentials(shift), scores.size + np.abs(shift[:, :, None])

    names = {"q": "q", "k": "k", "v": "v"}
    names["out"] = "attention_out" if "attention_out" in call.values else "out"
    names["grad_out"] = "grad_output" if "grad_output" in call.values else "grad_out"
    found = all_gradients(
        {name: call.wide(param) for name, param in names.items()},
        _parts(call),
        lambda part: _scores(call, part),
        probabilities,
        _option(call, "softmax_scale", "scale"),
        call.dtype("q"),
    )
    dropout = _option(call, "p_dropout", "dropout_p")
    return {
        f"grad_{name}": one
        if dropout == 0
        else scattered(one.values, np.sqrt(odds(dropout) * squares), odds(dropout) * projected)
        for name, (one, squares, projected) in found.items()
    }


def all_gradients(
    arrays: Mapping[str, Array],
    parts: Sequence[Part],
    scores_of: Callable[[Part], Scores],
    probabilities: Callable[[Part, Scores], Pair],
    scale: float,
    dtype: str,
) -> dict[str, tuple[Expected, Array, float]]:
    """Gradients of all sequences with respect to q, k and v, from `arrays` of q, k, v, out and grad_out of a dtype, the
    sums of the squares of what dropout draws, and the variances of the projections on the gradients."""
    sums = {name: tuple(np.zeros(arrays[name].shape) for _ in range(4)) for name in ("q", "k", "v")}
    projected = dict.fromkeys(sums, 0.0)
    for part in parts:
        scores = scores_of(part)
        p, unsure = probabilities(part, scores)
        results = gradients(
            scale,
            dtype,
            p,
            unsure,
            *(arrays[name][part.keys if name in "kv" else part.queries] for name in ("q", "k", "v", "out", "grad_out")),
        )
        for name, found in zip(("q", "k", "v"), results, strict=True):
            position = part.queries if name == "q" else part.keys
            for total, one in zip(sums[name], found[:4], strict=True):
                total[position] += one
            projected[name] += found[4]
    terms = arrays["q"].shape[-1] + max(arrays["q"].shape[-3], arrays["k"].shape[-3]) * arrays["q"].shape[-2]
    return {
        name: (Expected(values, size, terms, narrowed=narrowed), drawn, projected[name])
        for name, (values, size, drawn, narrowed) in sums.items()
    }
