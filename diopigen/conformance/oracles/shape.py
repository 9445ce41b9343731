"""Copies: joined, cut, rearranged, repeated, padded or cast. Nothing is computed, so everything is exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array, convert
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, oracle


def _copy(call: Call, values: Any) -> Answer:
    """The elements in the shape and dtype of the output."""
    name = call.target
    return {name: Expected(np.asarray(values).reshape(call.shapes[name]))}


@oracle("Cat", "Stack")
def _cat(call: Call) -> Answer:
    dtype = call.dtype("out")
    parts = [convert(part, dtype) for part in call["tensors"]]
    if call.function.operator == "Stack":
        return _copy(call, np.stack(parts, axis=call["dim"]))
    counted = [part for part in parts if part.shape != (0,)]
    return _copy(call, np.concatenate(counted, axis=call["dim"]) if counted else np.zeros(0))


@oracle("SplitWithSizes")
def _split(call: Call) -> Answer:
    if not call["splitSizes"]:
        return {"outs": []}
    positions = np.cumsum(call["splitSizes"])[:-1]
    return {"outs": [Expected(part) for part in np.split(call.wide("input"), positions, axis=call["dim"])]}


@oracle("Transpose")
def _transpose(call: Call) -> Answer:
    x = call.wide("input")
    return _copy(call, np.swapaxes(x, call["dim0"], call["dim1"]) if x.ndim else x)


@oracle("Permute")
def _permute(call: Call) -> Answer:
    return _copy(call, np.transpose(call.wide("input"), call["dims"]))


@oracle("Repeat")
def _repeat(call: Call) -> Answer:
    return _copy(call, np.tile(call.wide("input"), call["repeats_size"]))


@oracle("Flip")
def _flip(call: Call) -> Answer:
    x = np.atleast_1d(call.wide("input"))
    return _copy(call, np.flip(x, axis=call["dims"]) if call["dims"] else x)


@oracle("Roll")
def _roll(call: Call) -> Answer:
    x, dims = call.wide("input"), call["dims"]
    return _copy(call, np.roll(x, call["shifts"], axis=dims) if dims else np.roll(x, call["shifts"][0]))


def _mirrored(x: Array, widths: Sequence[tuple[int, int]]) -> Array:
    return np.pad(x, widths, mode="reflect")


def _prolonged(x: Array, widths: Sequence[tuple[int, int]]) -> Array:
    return np.pad(x, widths, mode="edge")


_PAD_MODES = {"reflect": _mirrored, "replicate": _prolonged}


@oracle("Pad")
def _pad(call: Call) -> Answer:
    """Negative amounts cut off: first everything is added, then cut."""
    x, pads, mode = call.wide("input"), call["pad"], call["mode"]
    if not pads:
        return _copy(call, x)
    widths, amounts = [(0, 0)] * x.ndim, [(0, 0)] * x.ndim
    cuts: list[Any] = [slice(None)] * x.ndim
    for pair in range(len(pads) // 2):
        before, after = pads[2 * pair], pads[2 * pair + 1]
        dim = x.ndim - 1 - pair
        amounts[dim] = (before, after)
        widths[dim] = (max(before, 0), max(after, 0))
        cuts[dim] = slice(max(-before, 0), x.shape[dim] + widths[dim][0] + widths[dim][1] - max(-after, 0))
    if mode == "circular":
        # Here what is cut off does not come back: first everything is cut, then added.
        retained = tuple(slice(max(-c, 0), n - max(-d, 0)) for n, (c, d) in zip(x.shape, amounts, strict=True))
        return _copy(call, np.pad(x[retained], widths, mode="wrap"))
    if mode in _PAD_MODES:
        return _copy(call, _PAD_MODES[mode](x, widths)[tuple(cuts)])
    value = convert(np.asarray(call["value"] or 0.0), call.dtype("input"))
    return _copy(call, np.pad(x, widths, constant_values=value[()])[tuple(cuts)])


@oracle("Unfold")
def _unfold(call: Call) -> Answer:
    x = np.atleast_1d(call.wide("input"))
    dim = call["dim"] % x.ndim
    windows = np.lib.stride_tricks.sliding_window_view(x, call["size"], axis=dim)
    return _copy(call, np.moveaxis(np.moveaxis(windows, dim, 0)[:: call["step"]], 0, dim))


@oracle("Select")
def _select(call: Call) -> Answer:
    return _copy(call, np.take(call.wide("input"), call["index"], axis=call["dim"]))


@oracle("Slice")
def _slice(call: Call) -> Answer:
    x = call.wide("input")
    positions: list[Any] = [slice(None)] * x.ndim
    positions[call["dim"] % x.ndim] = slice(call["start"], call["end"], call["step"])
    return _copy(call, x[tuple(positions)])


@oracle("OneHot")
def _one_hot(call: Call) -> Answer:
    classes = call["input"].astype(np.int64)
    return _copy(call, (classes[..., None] == np.arange(call.shapes["out"][-1])).astype(np.int64))


@oracle("MeshGrid")
def _mesh_grid(call: Call) -> Answer:
    grids = np.meshgrid(*(np.atleast_1d(part) for part in call["inputs"]), indexing="ij")
    return {"outs": [Expected(grid) for grid in grids]}


@oracle("Contiguous")
def _contiguous(call: Call) -> Answer:
    found = call.wide("input")
    order = list(range(found.ndim))
    if call["memoryFormat"] != "Contiguous":
        order.append(order.pop(1))
    return {"out": Allocated(Expected(found), call.dtype("input"), tuple(order))}


@oracle("RotaryEmbedding")
def _rotary(call: Call) -> Answer:
    """Each pair (a, b) becomes (a cos - b sin, b cos + a sin); the gradient turns the other way."""
    x, cos, sin = call.wide("x"), call.wide("cos"), call.wide("sin")
    sin = -sin if call["conj"] else sin
    half = x.shape[-1] // 2
    first, second = (x[..., 0::2], x[..., 1::2]) if call["interleaved"] else (x[..., :half], x[..., half:])
    found, scale = np.empty_like(x), np.empty_like(x)
    positions = (slice(0, None, 2), slice(1, None, 2)) if call["interleaved"] else (slice(0, half), slice(half, None))
    found[..., positions[0]], found[..., positions[1]] = first * cos - second * sin, second * cos + first * sin
    size = np.abs(first * cos) + np.abs(second * sin)
    scale[..., positions[0]], scale[..., positions[1]] = size, np.abs(second * cos) + np.abs(first * sin)
    return {"out": Expected(found, scale)}
