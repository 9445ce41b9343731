"""The oracles of the norm with a residual stream, of rotary embedding and of gated activations."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.contract.dtypes import SMALLEST_NORMAL


@oracle("ResidualRMSNorm")
def _residual_rms_norm(call: Call) -> Answer:
    target = next(name for name in call.outputs if name != "residual")
    x = call.wide("input")
    total, size = x, np.abs(x)
    if call.has("residual"):
        residual = call.wide("residual")
        total, size = x + residual, np.abs(x) + np.abs(residual)
    weight = call.wide("weight") if call.has("weight") else np.ones(x.shape[-1])
    factor = weight + float(call["weight_offset"])
    factor_size = np.abs(weight) + abs(float(call["weight_offset"]))
    length = max(x.shape[-1], 1)
    mean = (total * total).sum(axis=-1, keepdims=True) / length + float(call["eps"])
    # An error relative to the terms of the sum reaches the result through the value and through the root of the mean.
    unsure = (np.abs(total) * size).sum(axis=-1, keepdims=True) / length / mean
    values = total / np.sqrt(mean) * factor
    rounded = np.abs(total) / np.sqrt(mean) * factor_size
    scale = factor_size / np.sqrt(mean) * (size + np.abs(total) * unsure)
    # The sum, the normalized value and the weight may be rounded on the way.
    found: dict[str, Expected] = {target: Expected(values, scale, x.shape[-1], narrowed=3 * rounded)}
    if call.has("residual"):
        found["residual"] = Expected(total, size, 2)
    return found


@oracle("RotaryEmbeddingByPositionInp")
def _rotary_embedding(call: Call) -> Answer:
    table = call.wide("cos_sin")[np.asarray(call["positions"], dtype=np.int64)]
    half, size = table.shape[1] // 2, int(call["head_size"])
    cosine, sine = table[:, None, :half], table[:, None, half:]
    interleaved = bool(call["is_interleaved"])
    first = slice(0, 2 * half, 2) if interleaved else slice(0, half)
    second = slice(1, 2 * half, 2) if interleaved else slice(half, 2 * half)
    found = {}
    for name in ("query", "key"):
        if not call.has(name):
            continue
        operand = call.wide(name)
        x = operand.reshape(len(table), operand[:1].size // size, size)
        values, scale = x.copy(), np.abs(x)
        a, b = x[..., first], x[..., second]
        values[..., first], values[..., second] = a * cosine - b * sine, b * cosine + a * sine
        scale[..., first] = np.abs(a * cosine) + np.abs(b * sine)
        scale[..., second] = np.abs(b * cosine) + np.abs(a * sine)
        found[name] = Expected(values.reshape(operand.shape), scale.reshape(operand.shape), 2)
    return found


def _gated(call: Call, activation: Callable[[Array], tuple[Array, Array]]) -> Answer:
    """The first half of each row, activated, times the second. `activation` returns values and the size of terms."""
    first, second = np.split(call.wide("input"), 2, axis=-1)
    activated, size = activation(first)
    values = activated * second
    narrowed = np.abs(values) + SMALLEST_NORMAL[call.dtype("input")] * np.abs(second)
    return {"out": Expected(values, size * np.abs(second), narrowed=narrowed)}


def _silu(x: Array) -> tuple[Array, Array]:
    with np.errstate(over="ignore"):
        values = x / (1 + np.exp(-x))
    return values, np.abs(values) * (1 + np.maximum(-x, 0))


def _gelu(x: Array) -> tuple[Array, Array]:
    erfc = np.array([math.erfc(-each * math.sqrt(0.5)) for each in x.ravel().tolist()]).reshape(x.shape)
    return 0.5 * x * erfc, 0.5 * np.abs(x)  # terms of 1/2 that cancel, as in Gelu


def _gelu_tanh(x: Array) -> tuple[Array, Array]:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), 0.5 * np.abs(x)


ACTIVATIONS = {"silu": _silu, "gelu": _gelu, "gelu_tanh": _gelu_tanh}
"""Values of an activation, and the size of the terms that they are made of."""


@oracle("SiluAndMul")
def _silu_and_mul(call: Call) -> Answer:
    return _gated(call, _silu)


@oracle("GeluAndMul")
def _gelu_and_mul(call: Call) -> Answer:
    return _gated(call, _gelu_tanh if call["approximate"] == "tanh" else _gelu)


@oracle("ShardedEmbedding")
def _sharded_embedding(call: Call) -> Answer:
    table, rows = call.wide("weight"), np.asarray(call["tokens"]).astype(np.int64) - int(call["first_token"])
    is_here = (rows >= 0) & (rows < len(table))
    padded = np.concatenate([table, np.zeros((1, table.shape[1]), table.dtype)])
    return {"out": Expected(padded[np.where(is_here, rows, len(table))])}
