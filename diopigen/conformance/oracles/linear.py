"""Products of matrices, convolutions and pooling, as sums written out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle

Dims = tuple[int, ...]


def _product(first: Array, second: Array) -> Expected:
    """A product of matrices in exact integers (which wrap) or float64."""
    found = np.asarray(np.matmul(first, second))
    if first.dtype.kind in "iub":
        return Expected(found)
    return Expected(found, np.asarray(np.matmul(np.abs(first), np.abs(second))), first.shape[-1])


@oracle("Mm", "Bmm")
def _mm(call: Call) -> Answer:
    return {"out": _product(call.wide("input"), call.wide("mat2"))}


@oracle("Matmul")
def _matmul(call: Call) -> Answer:
    return {"out": _product(call.wide("input"), call.wide("other"))}


@oracle("Linear")
def _linear(call: Call) -> Answer:
    product = _product(call.wide("input"), np.swapaxes(call.wide("weight"), 0, 1))
    if not call.given("bias"):
        return {"out": product}
    bias = call.wide("bias")
    scale = None if product.scale is None else product.scale + np.abs(bias)
    return {"out": Expected(product.values + bias, scale, product.terms)}


def _added(call: Call, first: str, second: str) -> Answer:
    """beta * input + alpha * (first @ second); with beta 0 the input does not matter, not even NaN."""
    product = _product(call.wide(first), call.wide(second))
    name, x = call.target, call.wide("input")
    if product.scale is None:
        alpha, beta = int(call["alpha"]), int(call["beta"])
        found = product.values * product.values.dtype.type(alpha)
        return {name: Expected(found + x * x.dtype.type(beta) if beta else found)}
    alpha, beta = call["alpha"], call["beta"]
    shape = product.values.shape
    summand = np.broadcast_to(beta * x if beta else np.zeros_like(x), shape)
    return {
        name: Expected(alpha * product.values + summand, abs(alpha) * product.scale + np.abs(summand), product.terms)
    }


@oracle("Addmm")
def _addmm(call: Call) -> Answer:
    return _added(call, "mat1", "mat2")


@oracle("Baddbmm")
def _baddbmm(call: Call) -> Answer:
    return _added(call, "batch1", "batch2")


# ---- windows --------------------------------------------------------------------------------------------------------


def _padded(x: Array, pads: Sequence[int], value: Any) -> Array:
    """Padding of the trailing dimensions, enough behind for any last window."""
    widths = [(0, 0)] * (x.ndim - len(pads)) + [(pad, pad + 64) for pad in pads]
    return np.pad(x, widths, constant_values=value)


def _window(x: Array, offsets: Sequence[int], steps: Sequence[int], counts: Sequence[int]) -> Array:
    """The elements that one offset inside the window meets over all window positions."""
    places = [slice(o, o + s * (n - 1) + 1, s) for o, s, n in zip(offsets, steps, counts, strict=True)]
    index: Any = (..., *places)
    return np.asarray(x[index])


def _sizes(call: Call, name: str, count: int, fallback: Sequence[int] = ()) -> list[int]:
    found = list(call[name]) or list(fallback)
    return found * count if len(found) == 1 else found


@oracle("Convolution2d", "Convolution3d")
def _convolution(call: Call) -> Answer:
    """For each offset in the window: the elements there times the weight there, summed over the group's channels."""
    x, weight, groups = call.wide("input"), call.wide("weight"), int(call["groups"])
    window = weight.shape[2:]
    count = len(window)
    steps, pads, spreads = (_sizes(call, name, count) for name in ("stride", "padding", "dilation"))
    out_shape = call.shapes["out"]
    places = out_shape[2:]
    padded = _padded(x, pads, 0.0)
    found, scale = np.zeros(out_shape), np.zeros(out_shape)
    inputs, outputs = x.shape[1] // groups, weight.shape[0] // groups
    for group in range(groups):
        source = padded[:, group * inputs : (group + 1) * inputs]
        kernel = weight[group * outputs : (group + 1) * outputs]
        target = slice(group * outputs, (group + 1) * outputs)
        for offset in itertools.product(*(range(size) for size in window)):
            at = [o * spread for o, spread in zip(offset, spreads, strict=True)]
            elements = _window(source, at, steps, places)
            tap: Any = (slice(None), slice(None), *offset)
            factor = kernel[tap]
            found[:, target] += np.einsum("nc...,kc->nk...", elements, factor)
            scale[:, target] += np.einsum("nc...,kc->nk...", np.abs(elements), np.abs(factor))
    if call.given("bias"):
        bias = call.wide("bias").reshape(1, -1, *(1,) * count)
        found, scale = found + bias, scale + np.abs(bias)
    return {"out": Expected(found, scale, inputs * math.prod(window))}


def _pooled(
    x: Array, window: Sequence[int], steps: Sequence[int], pads: Sequence[int], spreads: Sequence[int],
    places: Sequence[int], outside: Any,
) -> Array:  # fmt: skip
    """All elements of each window, as a new first dimension in row-major order of the window."""
    padded = _padded(x, pads, outside)
    layers = []
    for offset in itertools.product(*(range(size) for size in window)):
        at = [o * spread for o, spread in zip(offset, spreads, strict=True)]
        layers.append(_window(padded, at, steps, places))
    return np.stack(layers)


def _pool_arguments(call: Call, count: int) -> tuple[list[int], list[int], list[int], list[int]]:
    window = _sizes(call, "kernel_size", count)
    steps, pads = _sizes(call, "stride", count, window), _sizes(call, "padding", count)
    spreads = _sizes(call, "dilation", count) if "dilation" in call.values else [1] * count
    return window, steps, pads, spreads


def _max_pool(count: int) -> Callable[[Call], Answer]:
    def answer(call: Call) -> Answer:
        x = call.wide("input")
        window, steps, pads, spreads = _pool_arguments(call, count)
        places = call.shapes["out"][-count:]
        lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        values = _pooled(x, window, steps, pads, spreads, places, lowest)
        positions = np.arange(math.prod(x.shape[-count:])).reshape((1,) * (x.ndim - count) + x.shape[-count:])
        numbers = _pooled(np.broadcast_to(positions, x.shape), window, steps, pads, spreads, places, -1)
        # Padding never wins: where it ties with the lowest number, the first element inside counts.
        inside = numbers >= 0
        rank = np.where(inside, values, lowest)
        best = np.where(inside & (rank == rank.max(axis=0)), 1, 0)
        if x.dtype.kind == "f":
            best = np.where(np.isnan(values).any(axis=0) & inside, np.isnan(values), best)
        chosen = np.expand_dims(best.argmax(axis=0), 0)
        found = {"out": Expected(np.take_along_axis(values, chosen, 0)[0], signed_zero=False)}
        if "indices" in call.shapes:
            found["indices"] = Expected(np.take_along_axis(numbers, chosen, 0)[0])
        return found

    return answer


oracle("MaxPool1d", "MaxPool1dWithIndices")(_max_pool(1))
oracle("MaxPool2d", "MaxPool2dWithIndices")(_max_pool(2))
oracle("MaxPool3d", "MaxPool3dWithIndices")(_max_pool(3))


def _avg_pool(count: int) -> Callable[[Call], Answer]:
    def answer(call: Call) -> Answer:
        x = call.wide("input")
        window, steps, pads, spreads = _pool_arguments(call, count)
        places = call.shapes["out"][-count:]
        values = _pooled(x, window, steps, pads, spreads, places, 0.0)
        if call.values.get("divisor_override") is not None:
            divisor: Any = float(call["divisor_override"])
        else:
            counted = np.ones(x.shape[-count:])
            if call["count_include_pad"]:  # what ceil_mode adds behind the padding never counts
                counted = np.pad(counted, [(pad, pad) for pad in pads], constant_values=1.0)
            border = [0] * count if call["count_include_pad"] else pads
            divisor = _pooled(counted, window, steps, border, spreads, places, 0.0).sum(axis=0)
        total, scale = values.sum(axis=0) / divisor, np.abs(values).sum(axis=0) / np.abs(divisor)
        return {"out": Expected(total, scale, math.prod(window))}

    return answer


for _count in (1, 2, 3):
    oracle(f"AvgPool{_count}d")(_avg_pool(_count))


def _adaptive(call: Call, count: int) -> list[tuple[Dims, tuple[slice, ...]]]:
    """The window of each output position: from floor(i * n / m) to ceil((i + 1) * n / m)."""
    sizes, outputs = call.shapes["input"][-count:], call.shapes["out"][-count:]
    found = []
    for place in itertools.product(*(range(size) for size in outputs)):
        window = tuple(slice(i * n // m, -(-(i + 1) * n // m)) for i, n, m in zip(place, sizes, outputs, strict=True))
        found.append((place, window))
    return found


@oracle("AdaptiveAvgPool2d", "AdaptiveAvgPool3d")
def _adaptive_avg(call: Call) -> Answer:
    x, count = call.wide("input"), int(call.function.operator[-2])
    found, scale, terms = np.zeros(call.shapes["out"]), np.zeros(call.shapes["out"]), 1
    dims = tuple(range(x.ndim - count, x.ndim))
    for place, window in _adaptive(call, count):
        at: Any = (..., *window)
        to: Any = (..., *place)
        elements = x[at]
        found[to] = elements.mean(axis=dims)
        scale[to] = np.abs(elements).mean(axis=dims)
        terms = max(terms, math.prod(elements.shape[-count:]))
    return {"out": Expected(found, scale, terms)}
