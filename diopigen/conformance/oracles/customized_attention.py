"""CustomizedFlashAttention: masks and layouts from the caller, statistics of the softmax in tensors of their own."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, Property, oracle
from diopigen.conformance.oracles.attention import (
    Part,
    Scores,
    all_gradients,
    dropped,
    linear_bias,
    near,
    scattered,
    visible,
    weighted,
)


def _order(layout: str) -> list[int]:
    """Axes of batch, sequence, heads and elements in a layout whose H has been split into heads and elements."""
    return {"SBH": [1, 0, 2, 3], "BNSD": [0, 2, 1, 3]}.get(layout, [0, 1, 2, 3])


def _arranged(call: Call, name: str) -> Array:
    """An operand as [batch, tokens, heads, d]; joined sequences as [tokens, heads, d]."""
    array = call.wide(name)
    if "input_layout" not in call.values:
        return array
    layout = str(call["input_layout"])
    if layout.endswith("H"):
        size = call["q"].shape[-1] // int(call["head_num"])
        array = array.reshape(*array.shape[:2], array.shape[2] // max(size, 1), size)
    return np.transpose(array, _order(layout))


def _returned(call: Call, array: Array, like: str) -> Array:
    """The way back: every order of dimensions here is its own inverse."""
    if "input_layout" in call.values:
        array = np.transpose(array, _order(str(call["input_layout"])))
    return np.asarray(array.reshape(call[like].shape))


def _parts(call: Call) -> list[Part]:
    if "cum_seq_q" not in call.values:
        return [Part(b, (b,), (b,)) for b in range(len(_arranged(call, "q")))]
    ends_q, ends_k = list(call["cum_seq_q"]), list(call["cum_seq_kv"])
    starts_q, starts_k = [0, *ends_q], [0, *ends_k]
    return [Part(b, (slice(starts_q[b], ends_q[b]),), (slice(starts_k[b], ends_k[b]),)) for b in range(len(ends_q))]


def _scores(call: Call, part: Part) -> Scores:
    q, k = _arranged(call, "q")[part.queries], _arranged(call, "k")[part.keys]
    right = 0 if call["is_causal"] else int(call["window_size_right"])
    seen = visible(len(q), len(k), int(call["window_size_left"]), right)[None]
    if call.has("attention_mask"):
        mask = np.asarray(call["attention_mask"]).astype(bool)
        if "cum_seq_q" in call.values:
            mask = mask[: len(q), : len(k)][None]
        else:
            batch = len(_arranged(call, "q"))
            mask = np.broadcast_to(mask, (batch, q.shape[1], len(q), len(k)))[part.number]
        seen = seen & ~mask
    bias = None
    if call.has("alibi_slopes"):
        slopes = call.wide("alibi_slopes")
        bias = linear_bias(slopes if slopes.ndim == 1 else slopes[part.number], len(q), len(k))
    return Scores.of(q, k, float(call["softmax_scale"]), seen, bias)


def _copies(requested: Array, size: Array, seen: Array) -> Property:
    """Statistics of every query with any number of copies in the last dimension."""

    def check(sample: Array) -> str | None:
        if sample.shape[:-1] != requested.shape or sample.shape[-1] < 1:
            return f"the shape is {sample.shape} instead of {requested.shape} with copies behind"
        for copy in np.moveaxis(sample.astype(np.float64), -1, 0):
            if not near(np.where(seen, copy, 0), np.where(seen, requested, 0), np.where(seen, size, 0)):
                return "a copy of the statistics is wrong"
        return None

    return Property(check)


def _any_values(sample: Array) -> str | None:
    del sample  # a form of the library
    return None


@oracle("CustomizedFlashAttention", "CustomizedFlashAttentionVarLen")
def _customized(call: Call) -> Answer:
    q, v = _arranged(call, "q"), _arranged(call, "v")
    heads, is_joined = q.shape[-2], "cum_seq_q" in call.values
    shape = (q.shape[0], heads) if is_joined else (q.shape[0], heads, q.shape[1])
    maxima, sums, sizes, seen = (np.zeros(shape) for _ in range(4))
    values, size, narrowed, deviation = (np.zeros(q.shape) for _ in range(4))
    single, projected = np.full(q.shape, np.nan), 0.0
    dropout = float(call["p_dropout"])
    for part in _parts(call):
        scores = _scores(call, part)
        own = weighted(scores, v[part.keys], call.dtype("v"))
        values[part.queries], size[part.queries], narrowed[part.queries] = own
        sampled = dropped(scores, v[part.keys], values[part.queries], dropout)
        deviation[part.queries], single[part.queries] = sampled.deviation, sampled.single
        projected += sampled.projected
        found = (scores.maximum, scores.sums, scores.size.max(axis=2, initial=0), ~scores.is_blind)
        for array, one in zip((maxima, sums, sizes, seen), found, strict=True):
            array[part.queries] = one.T if is_joined else one
    empty = Expected(np.zeros(0))
    terms = q.shape[-1] + call["k"].shape[0] + call["k"].shape[1]
    values, size, narrowed, deviation, single = (
        _returned(call, array, "q") for array in (values, size, narrowed, deviation, single)
    )
    expected = Expected(values, size, terms, narrowed=narrowed)
    return {
        "attention_out": expected if dropout == 0 else scattered(values, deviation, projected, single),
        "dropout_mask": Allocated(
            Expected(np.zeros(0, dtype=np.int64)) if dropout == 0 else Property(_any_values), "uint8"
        ),
        "softmax_max": Allocated(_copies(maxima, sizes, seen != 0), "float32"),
        # An error in a score changes the sum in proportion.
        "softmax_sum": Allocated(_copies(sums, sums * (1 + sizes), seen != 0), "float32"),
        "softmax_out": Allocated(empty if dropout == 0 else Property(_any_values), "float32"),
    }


@oracle("CustomizedFlashAttentionBackward", "CustomizedFlashAttentionVarLenBackward")
def _customized_backward(call: Call) -> Answer:
    is_joined = "cum_seq_q" in call.values
    maxima, sums = call.wide("softmax_max")[..., 0], call.wide("softmax_sum")[..., 0]

    def probabilities(part: Part, scores: Scores) -> tuple[Array, Array]:
        shift, total = maxima[part.queries], sums[part.queries]
        if is_joined:
            shift, total = shift.T, total.T
        found = scores.exponentials(shift) / np.where(total == 0, 1, total)[:, :, None]
        return found, scores.size + np.abs(shift[:, :, None])

    names = {"q": "q", "k": "k", "v": "v", "out": "attention_out", "grad_out": "grad_output"}
    arrays = {name: _arranged(call, param) for name, param in names.items()}
    found = all_gradients(
        arrays,
        _parts(call),
        lambda part: _scores(call, part),
        probabilities,
        float(call["softmax_scale"]),
        call.dtype("q"),
    )

    def returned(name: str, one: Expected) -> Expected:
        values, scale, narrowed = (
            _returned(call, np.asarray(array), name) for array in (one.values, one.scale, one.narrowed)
        )
        return Expected(values, scale, one.terms, narrowed=narrowed)

    return {f"grad_{name}": returned(name, one) for name, (one, *_) in found.items()}
