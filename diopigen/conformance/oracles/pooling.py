"""Maxima and means of windows, sliding or adaptive, and their gradients."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.oracles.windows import Position, dimensions, pool_positions

_DIMENSIONS = ("1d", "2d", "3d")


def _operators(*patterns: str) -> list[str]:
    """The names of operators of all dimensions: `MaxPool*` stands for MaxPool1d, MaxPool2d, MaxPool3d."""
    return [pattern.replace("*", count) for pattern, count in itertools.product(patterns, _DIMENSIONS)]


def _winner(elements: Array) -> int:
    """Index of the maximum: the first of equal ones, the last NaN before all."""
    if elements.dtype.kind == "f" and np.isnan(elements).any():
        return int(np.flatnonzero(np.isnan(elements))[-1])
    return int(elements.argmax())


def _rows(x: Array, count: int) -> Array:
    """One row per plane: [planes, *space]."""
    return x.reshape(-1, *x.shape[x.ndim - count :])


def _maxima(call: Call, pooled: str) -> tuple[Array, Array]:
    """The maxima of windows and where they stand, both of shape [planes, *windows]; `pooled` has the pooled shape."""
    locations, x = pool_positions(call, pooled), call.wide("input")
    count = dimensions(call)
    planes = _rows(x, count)
    numbers = np.arange(math.prod(planes.shape[1:])).reshape(planes.shape[1:])
    lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    shape = call.shapes[pooled]
    values = np.full((planes.shape[0], *shape[len(shape) - count :]), lowest, dtype=x.dtype)
    # A window of padding alone has no maximum.
    positions = np.full(values.shape, -1)
    for position in locations:
        inside = numbers[position.elements].ravel()
        to: Any = (slice(None), *position.at)
        for plane in range(planes.shape[0] if inside.size else 0):
            elements = planes[plane].ravel()
            best = inside[_winner(elements[inside])]
            values[to][plane], positions[to][plane] = elements[best], best
    return values, positions


def _max(call: Call) -> Answer:
    values, positions = _maxima(call, "out")
    shape = call.shapes["out"]
    found = {"out": Expected(values.reshape(shape), signed_zero=False)}
    if "indices" in call.shapes:
        found["indices"] = Expected(positions.reshape(shape))
    return found


def _max_backward(call: Call) -> Answer:
    """Every element of grad_output goes where the index says, or where the maximum is."""
    gradient = call.wide("grad_output")
    positions = np.asarray(call["indices"]) if call.has("indices") else _maxima(call, "grad_output")[1]
    shape = call.shapes["grad_input"]
    count = dimensions(call)
    planes = math.prod(gradient.shape[: gradient.ndim - count])
    size = (planes, math.prod(shape[len(shape) - count :]))
    found, scale, terms = (np.zeros(size, gradient.dtype) for _ in range(3))
    rows = np.repeat(np.arange(planes), gradient.size // max(planes, 1))
    won = positions.ravel() >= 0  # not a window of padding alone
    to = (rows[won], positions.ravel()[won])
    np.add.at(found, to, gradient.ravel()[won])
    np.add.at(scale, to, np.abs(gradient).ravel()[won])
    np.add.at(terms, to, 1)
    most = int(terms.max(initial=1))
    return {"grad_input": Expected(found.reshape(shape), scale.reshape(shape), most)}


def _divisor(call: Call, position: Position, elements: int) -> float:
    """Divisor of a sum: an own divisor, the padded window, or the elements in it."""
    if call.values.get("divisor_override") is not None:
        return float(call["divisor_override"])
    with_padding = call.values.get("count_include_pad", not call.values.get("exclusive", True))
    return float(position.padded if with_padding else elements)


def _avg(call: Call) -> Answer:
    x, shape = call.wide("input"), call.shapes["out"]
    found, scale, terms = np.zeros(shape, x.dtype), np.zeros(shape, x.dtype), 1
    for position in pool_positions(call, "out"):
        inside: Any = (..., *position.elements)
        to: Any = (..., *position.at)
        elements = x[inside]
        dims = tuple(range(x.ndim - len(position.at), x.ndim))
        number = math.prod(elements.shape[dim] for dim in dims)
        if number:
            divisor = _divisor(call, position, number)
            found[to] = elements.sum(axis=dims) / divisor
            scale[to] = np.abs(elements).sum(axis=dims) / abs(divisor)
            terms = max(terms, number)
    return {"out": Expected(found, scale, terms)}


def _avg_backward(call: Call) -> Answer:
    """Every element of grad_output goes to all elements of its window, divided as in the forward call."""
    gradient, shape = call.wide("grad_output"), call.shapes["grad_input"]
    found, scale, terms = (np.zeros(shape, gradient.dtype) for _ in range(3))
    for position in pool_positions(call, "grad_output"):
        inside: Any = (..., *position.elements)
        number = math.prod(found[inside].shape[found.ndim - len(position.at) :])
        if number:
            at: Any = (..., *position.at)
            widened: Any = (..., *(None,) * len(position.at))
            share = np.asarray(gradient[at])[widened] / _divisor(call, position, number)
            found[inside] += share
            scale[inside] += np.abs(share)
            terms[inside] += 1
    return {"grad_input": Expected(found, scale, int(terms.max(initial=1)))}


for _name in _operators("MaxPool*", "MaxPool*WithIndices", "AdaptiveMaxPool*", "AdaptiveMaxPool*WithIndices"):
    oracle(_name)(_max)
for _name in _operators("MaxPool*Backward", "AdaptiveMaxPool*Backward"):
    oracle(_name)(_max_backward)
for _name in _operators("AvgPool*", "AdaptiveAvgPool*"):
    oracle(_name)(_avg)
for _name in _operators("AvgPool*Backward", "AdaptiveAvgPool*Backward"):
    oracle(_name)(_avg_backward)


@oracle(*_operators("Pool*"))
def _pool(call: Call) -> Answer:
    return _max(call) if call["mode"] == "max" else _avg(call)


@oracle(*_operators("Pool*Backward"))
def _pool_backward(call: Call) -> Answer:
    return _max_backward(call) if call["mode"] == "max" else _avg_backward(call)
