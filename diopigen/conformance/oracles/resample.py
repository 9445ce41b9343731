"""Resizing by copies or interpolation, and interpolation at given positions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.products import product
from diopigen.contract.tolerance import epsilon

_SLACK = 1 / 32
"""A position among n elements carries roundings of up to two parts of n * eps, and its weights do as well: this much of
n against the 64 of the tolerance class."""


def _resized(x: Array, matrices: Sequence[Array]) -> Array:
    """The trailing dimensions multiplied by one matrix each."""
    for location, matrix in enumerate(matrices):
        dim = x.ndim - len(matrices) + location
        x = np.moveaxis(product(np.moveaxis(x, dim, -1), matrix.T), -1, dim)
    return x


# ---- copies ---------------------------------------------------------------------------------------------------------


def _sources(size: int, out: int, wide: bool) -> Array:
    """Source element of each of `out` elements: floor(i * (size / out)), the product rounded to float32, where `wide`
    does not hold from a ratio in float32."""
    number: Any = np.float64 if wide else np.float32
    position = (np.arange(out).astype(number) * (number(size) / number(out))).astype(np.float32)
    return np.asarray(np.minimum(np.floor(position).astype(np.int64), size - 1))


@oracle("UpsampleNearest")
def _nearest(call: Call) -> Answer:
    x, wide = call.wide("input"), call.dtype("input") == "float64"
    for dim, (size, out) in enumerate(zip(x.shape[2:], call["size"], strict=True), 2):
        x = np.take(x, _sources(size, out, wide), axis=dim)
    return {"out": Expected(x)}


@oracle("UpsampleNearestBackward")
def _nearest_backward(call: Call) -> Answer:
    gradient = call.wide("grad_output")
    matrices = []
    for size, out in zip(call["in_size"][2:], call["out_size"], strict=True):
        matrices.append((_sources(size, out, False) == np.arange(size)[:, None]).astype(np.float64))
    terms = int(np.prod([matrix.sum(axis=1).max() for matrix in matrices]))
    return {"grad_input": Expected(_resized(gradient, matrices), _resized(np.abs(gradient), matrices), max(terms, 1))}


# ---- interpolation --------------------------------------------------------------------------------------------------


def _cubic(distance: Array) -> Array:
    """The kernel of cubic convolution with A = -0.75."""
    a, d = -0.75, np.abs(distance)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.asarray(np.where(d <= 1, near, np.where(d < 2, far, 0.0)))


def _linear(distance: Array) -> Array:
    return np.asarray(np.maximum(1 - np.abs(distance), 0.0))


def _matrix(size: int, out: int, align_corners: bool, cubic: bool, number: Any) -> Array:
    """The weight of each element in each result, computed in a type; the border is repeated outwards."""
    locations = np.arange(out).astype(number)
    if align_corners:
        positions = locations * (size - 1) / (out - 1) if out > 1 else 0 * locations
    else:
        positions = (locations + 0.5) * size / out - 0.5
    if not cubic:
        positions = np.clip(positions, 0, size - 1)
    found = np.zeros((out, size), positions.dtype)
    margin = size + out + 4
    for neighbour in range(-margin, size + margin):
        weight = (_cubic if cubic else _linear)(positions - neighbour)
        found[:, min(max(neighbour, 0), size - 1)] += weight
    return found


def _interpolation(call: Call, sizes: Sequence[int], outs: Sequence[int]) -> list[Array]:
    cubic, number = call["mode"] == "bicubic", call.wide("input" if "input" in call.values else "grad_output").dtype
    return [_matrix(n, m, bool(call["align_corners"]), cubic, number) for n, m in zip(sizes, outs, strict=True)]


def _weighed(x: Array, matrices: Sequence[Array]) -> Expected:
    sizes = [np.where(matrix != 0, np.abs(matrix) + _SLACK * max(matrix.shape), 0) for matrix in matrices]
    return Expected(_resized(x, matrices), _resized(np.abs(x), sizes))


@oracle("UpsampleLinear")
def _upsample(call: Call) -> Answer:
    x = call.wide("input")
    return {"out": _weighed(x, _interpolation(call, x.shape[2:], call["size"]))}


@oracle("UpsampleLinearBackward")
def _upsample_backward(call: Call) -> Answer:
    matrices = _interpolation(call, call["in_size"][2:], call["out_size"])
    return {"grad_input": _weighed(call.wide("grad_output"), [matrix.T for matrix in matrices])}


# ---- positions ------------------------------------------------------------------------------------------------------


@oracle("GridSample")
def _grid_sample(call: Call) -> Answer:
    """The sum over neighbours inside the image of element times weight, one dimension's weight times the other's."""
    x, grid, mode = call.wide("input"), call.wide("grid"), call["mode"]
    sizes = x.shape[2:]
    # x comes first in the grid, and stands for the last dimension; -1 and 1 are the outer edges.
    positions = [((grid[..., len(sizes) - 1 - k] + 1) * size - 1) / 2 for k, size in enumerate(sizes)]
    points = positions[0].shape
    found, scale, free = (
        np.zeros((x.shape[1], *points), x.dtype),
        np.zeros((x.shape[1], *points), x.dtype),
        np.zeros(points, bool),
    )
    batch = np.arange(x.shape[0]).reshape(-1, *(1,) * (len(points) - 1))
    reach = {"nearest": (0,), "bilinear": (0, 1)}[mode]
    starts = [np.rint(p) if mode == "nearest" else np.floor(p) for p in positions]
    if mode == "nearest":  # rounding decides near ties
        precision = epsilon("float64" if call.dtype("input") == "float64" else "float32")
        for position, size in zip(positions, sizes, strict=True):
            free |= (np.abs(position - np.floor(position) - 0.5) < 8 * precision * size) & (position % 1 != 0.5)
    for offset in itertools.product(reach, repeat=len(sizes)):
        weight, size_of_weight, inside = np.ones(points), np.ones(points), np.ones(points, bool)
        index = []
        for start, step, position, size in zip(starts, offset, positions, sizes, strict=True):
            neighbour = start + step
            if mode != "nearest":
                own = _linear(position - neighbour)
                weight, size_of_weight = weight * own, size_of_weight * (np.abs(own) + _SLACK * size)
            inside &= (neighbour >= 0) & (neighbour < size)
            index.append(np.clip(neighbour, 0, size - 1).astype(np.int64))
        where: Any = (batch, slice(None), *index)
        elements = np.moveaxis(x[where], -1, 0)
        found += np.where(inside, weight * elements, 0)
        scale += np.where(inside, size_of_weight * np.abs(elements), 0)
    shape = call.shapes["out"]
    return {
        "out": Expected(
            np.moveaxis(found, 0, 1).reshape(shape),
            np.moveaxis(scale, 0, 1).reshape(shape),
            free=np.broadcast_to(free[:, None], shape),
        )
    }
