"""Attention made of other functions, against its definition in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adaptor_helpers import DTYPE_NOT_SUPPORTED, ERROR, SUCCESS
from composite_caller import Array, Caller, close, numbers

SCALE = 0.3
HALF = 2**-10
"""Error bound for a result rounded to float16."""
UNEQUAL = "q, k and v are not [batch, sequence, heads, head_dim] of one attention"


def visible(queries: int, keys: int, left: int, right: int) -> Array:
    """Keys that a query attends to: [seq_q, seq_k]. Its own place is aligned to the last query and the last key."""
    distance = np.arange(keys)[None, :] - (np.arange(queries)[:, None] + keys - queries)
    seen = np.ones((queries, keys), dtype=bool)
    seen &= (distance >= -left) if left >= 0 else True
    seen &= (distance <= right) if right >= 0 else True
    return seen


def attention(
    q: Array, k: Array, v: Array, seen: Array, slopes: Array | None = None, survives: Array | None = None
) -> tuple[Array, Array]:
    """Result and logarithm of the sum of exponentials, one query of one head at a time."""
    batch, queries, heads, _ = q.shape
    keys, fraction = k.shape[1], heads // k.shape[2]
    out, lse = np.zeros(q.shape), np.full((batch, heads, queries), np.inf)
    for b, h, i in np.ndindex(batch, heads, queries):
        positions = np.flatnonzero(seen[i])
        if len(positions) == 0:
            continue
        scores = SCALE * k[b, positions, h // fraction] @ q[b, i, h]
        if slopes is not None:
            slope = slopes[h] if slopes.ndim == 1 else slopes[b, h]
            scores = scores - slope * np.abs(i + keys - queries - positions)
        powers = np.exp(scores)
        lse[b, h, i] = np.log(powers.sum())
        weights = powers / powers.sum()
        out[b, i, h] = (weights if survives is None else weights * survives[b, h, i, positions]) @ v[
            b, positions, h // fraction
        ]
    return out, lse


def operands(queries: int, keys: int, heads: int = 2, kv_heads: int = 2) -> tuple[Array, Array, Array]:
    """Queries, keys and values that half precision holds as they are."""
    sampled = (
        numbers(2, queries, heads, 4, scale=1.0),
        numbers(2, keys, kv_heads, 4, seed=1, scale=1.0),
        numbers(2, keys, kv_heads, 4, seed=2),
    )
    q, k, v = (array.astype(np.float16).astype(np.float64) for array in sampled)
    return q, k, v


def provided(call: Caller, q: Array, k: Array, v: Array, dtype: str = "float32") -> dict[str, Any]:
    tensors = {"q": call.tensor(q, dtype), "k": call.tensor(k, dtype), "v": call.tensor(v, dtype)}
    return {**tensors, "gen": call.generator}


def flash(call: Caller, q: Array, k: Array, v: Array, **options: Any) -> tuple[Array, Array]:
    """Result and statistics of diopiFlashAttention."""
    out = call.tensor(np.full(q.shape, 7.0), "float16")
    lse = call.tensor(np.full((q.shape[0], q.shape[2], q.shape[1]), 7.0))
    windows = {"window_size_left": -1, "window_size_right": -1}
    arguments = {**provided(call, q, k, v, "float16"), "softmax_scale": SCALE, **windows, **options}
    status = call("diopiFlashAttention", attention_out=out, softmax_lse=lse, **arguments)
    assert status == SUCCESS, call.library.last_error()
    return call.array(out), call.array(lse)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [(3, 5), (5, 3), (4, 4), (1, 3)])
@pytest.mark.parametrize(("heads", "kv_heads"), [(2, 2), (4, 2), (3, 1), (6, 2)])
def test_heads_and_causal_masks(call: Caller, causal: bool, queries: int, keys: int, heads: int, kv_heads: int) -> None:
    q, k, v = operands(queries, keys, heads, kv_heads)
    expected, statistics = attention(q, k, v, visible(queries, keys, -1, 0 if causal else -1))
    out, lse = call.tensor(np.zeros(q.shape)), call.tensor(np.zeros(statistics.shape))
    status = call(
        "diopiMultiHeadAttention", **provided(call, q, k, v), out=out, softmax_lse=lse, scale=SCALE, is_causal=causal
    )
    assert status == SUCCESS, call.library.last_error()
    close(call.array(out), expected, 1e-5)
    close(call.array(lse), statistics, 1e-5)
    found, found_lse = flash(call, q, k, v, is_causal=causal)
    close(found, expected, HALF)
    close(found_lse, statistics, 1e-5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("right", [-1, 0, 1])
@pytest.mark.parametrize("left", [-1, 0, 2])
@pytest.mark.parametrize(("queries", "keys"), [(4, 6), (6, 4)])
def test_windows(call: Caller, queries: int, keys: int, left: int, right: int, causal: bool) -> None:
    q, k, v = operands(queries, keys)
    seen = visible(queries, keys, left, 0 if causal else right)
    expected, statistics = attention(q, k, v, seen)
    out, lse = flash(call, q, k, v, is_causal=causal, window_size_left=left, window_size_right=right)
    close(out, expected, HALF)
    close(lse, statistics, 1e-5)


@pytest.mark.parametrize("shape", [(4,), (2, 4)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [(3, 5), (5, 3)])
def test_linear_bias(call: Caller, shape: tuple[int, ...], causal: bool, queries: int, keys: int) -> None:
    q, k, v = operands(queries, keys, 4, 2)
    slopes = np.abs(numbers(*shape, seed=3, scale=0.5))
    expected, statistics = attention(q, k, v, visible(queries, keys, -1, 0 if causal else -1), slopes)
    out, lse = flash(call, q, k, v, is_causal=causal, alibi_slopes=call.tensor(slopes))
    close(out, expected, HALF)
    close(lse, statistics, 1e-5)


def test_dropout(call: Caller) -> None:
    q, k, v = operands(5, 7, 4, 2)
    mask = call.tensor(np.zeros((2, 4, 5, 7)), "bool")
    out, lse = call.tensor(np.zeros(q.shape)), call.tensor(np.zeros((2, 4, 5)))
    status = call(
        "diopiMultiHeadAttention", **provided(call, q, k, v), out=out, softmax_lse=lse, scale=SCALE, is_causal=True,
        dropout_p=0.4, return_debug_mask=True, debug_attn_mask=mask,
    )  # fmt: skip
    assert status == SUCCESS, call.library.last_error()
    survives = call.array(mask)
    assert set(survives.ravel()) == {0.0, 1.0}
    expected, statistics = attention(q, k, v, visible(5, 7, -1, 0), survives=survives / 0.6)
    close(call.array(out), expected, 1e-5)
    close(call.array(lse), statistics, 1e-5)
    # The mock drops the same at every call.
    found, _ = flash(call, q, k, v, is_causal=True, p_dropout=0.4)
    close(found, attention(q, k, v, visible(5, 7, -1, 0), survives=survives / 0.6)[0], HALF)


def test_mask_without_dropout_keeps_everything(call: Caller) -> None:
    q, k, v = operands(3, 4)
    mask = call.tensor(np.zeros((2, 2, 3, 4)), "bool")
    out, lse = call.tensor(np.zeros(q.shape)), call.tensor(np.zeros((2, 2, 3)))
    arguments = {**provided(call, q, k, v), "out": out, "softmax_lse": lse, "scale": SCALE}
    assert call("diopiMultiHeadAttention", **arguments, return_debug_mask=True, debug_attn_mask=mask) == SUCCESS
    assert (call.array(mask) == 1).all()
    close(call.array(out), attention(q, k, v, visible(3, 4, -1, -1))[0], 1e-5)


def test_no_keys(call: Caller) -> None:
    q, k, v = operands(3, 0)
    out, lse = flash(call, q, k, v)
    assert (out == 0).all()
    assert (lse == np.inf).all()


def test_nan_stays_visible(call: Caller) -> None:
    q, k, v = operands(3, 4)
    k[1, 2, 0, 0] = np.nan
    out, lse = flash(call, q, k, v)
    assert np.isnan(lse[1, 0]).all()
    assert np.isnan(out[1, :, 0]).all()
    assert not np.isnan(out[0]).any()


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"k": (2, 4, 3, 4), "v": (2, 4, 3, 4)}, "C1: kv_heads divides heads"),
        ({"k": (2, 4, 2, 4), "v": (2, 5, 2, 4)}, UNEQUAL),
        ({"k": (2, 4, 2, 3), "v": (2, 4, 2, 3)}, UNEQUAL),
        ({"p_dropout": 1.0}, "the probability of dropout is at least 0 and below 1"),
        ({"p_dropout": -0.5}, "the probability of dropout is at least 0 and below 1"),
        ({"alibi_slopes": (3,)}, "C3: alibi_slopes has the shape [heads] or [batch, heads]"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_rejected(call: Caller, wrong: dict[str, Any], text: str) -> None:
    q, k, v = operands(3, 4)
    out, lse = call.tensor(np.full(q.shape, 7.0), "float16"), call.tensor(np.full((2, 2, 3), 7.0))
    changed = {
        name: call.tensor(np.ones(value), "float32" if name == "alibi_slopes" else "float16")
        if isinstance(value, tuple)
        else value
        for name, value in wrong.items()
    }
    arguments = {**provided(call, q, k, v, "float16"), "window_size_left": -1, "window_size_right": -1, **changed}
    assert call("diopiFlashAttention", attention_out=out, softmax_lse=lse, **arguments) == ERROR
    assert call.library.last_error() == f"diopiFlashAttention: {text}"
    assert (call.array(out) == 7).all()
    assert (call.array(lse) == 7).all()


def test_expected_mask_that_is_null_is_rejected(call: Caller) -> None:
    q, k, v = operands(3, 4)
    out, lse = call.tensor(q), call.tensor(np.zeros((2, 2, 3)))
    arguments = {**provided(call, q, k, v), "out": out, "softmax_lse": lse, "scale": SCALE}
    assert call("diopiMultiHeadAttention", **arguments, return_debug_mask=True) == ERROR
    expected = "diopiMultiHeadAttention: C3: debug_attn_mask is not null where return_debug_mask is true"
    assert call.library.last_error() == expected


def test_dtype_that_the_interface_has_not_is_rejected(call: Caller) -> None:
    q, k, v = operands(3, 4)
    out, lse = call.tensor(q), call.tensor(np.zeros((2, 2, 3)))
    arguments = {**provided(call, q, k, v), "attention_out": out, "softmax_lse": lse}
    assert call("diopiFlashAttention", **arguments) == DTYPE_NOT_SUPPORTED
    assert call.library.last_error() == "diopiFlashAttention: parameter 'q' must not be float32"
    arguments = {**provided(call, q, k, v), "k": call.tensor(k, "float16"), "out": out, "softmax_lse": lse}
    assert call("diopiMultiHeadAttention", **arguments) == DTYPE_NOT_SUPPORTED
    assert call.library.last_error() == "diopiMultiHeadAttention: parameter 'k' must not be float16 with float32"
