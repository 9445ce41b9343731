"""Strides of each layout of a tensor of the suite, and the guard zones around its elements."""

from __future__ import annotations

import math
from functools import lru_cache

from diopigen.chip.model import LARGEST_ALIGNMENT

Dims = tuple[int, ...]
DISTANCE = 300
"""Elements between neighbours of the last dimension in the layout `distant`: more than a byte counts."""
GUARD = LARGEST_ALIGNMENT
"""Bytes of guard before and behind the elements: a multiple of every element size, and of what a chip can ask for."""


_FARTHEST = 2**62
"""The stride, in elements, of dimensions of size 1 in the layout `far`: no element lies there."""


@lru_cache(maxsize=4096)
def strides_of(shape: Dims, layout: str) -> Dims:
    """Strides in elements; sizes of 0 count as 1, as frameworks do it."""
    rank = len(shape)
    order = list(range(rank - 1, -1, -1))
    if layout == "transposed":
        order.reverse()
    elif layout == "channels-last" and rank >= 3:
        order = [1, *range(rank - 1, 1, -1), 0]
    strides = [0] * rank
    step, gap = {"strided": (2, 1), "distant": (DISTANCE, 1)}.get(layout, (1, 0))
    for dim in order:
        strides[dim] = step
        step = step * max(shape[dim], 1) + gap
    if layout == "odd":  # no element lies elsewhere
        return tuple(2 * step + 1 if size == 1 else step for size, step in zip(shape, strides, strict=True))
    if layout.startswith("by "):
        return tuple(map(int, layout[3:].split(",")))
    if layout == "far":
        return tuple(_FARTHEST if size == 1 else stride for size, stride in zip(shape, strides, strict=True))
    if layout == "expanded" and rank:
        inner = strides_of(shape[1:], "contiguous")
        return (0, *inner)
    return tuple(strides)


@lru_cache(maxsize=4096)
def reach(shape: Dims, strides: Dims) -> int:
    """Elements from the first to the last one, both counted; 0 for an empty tensor."""
    if math.prod(shape) == 0:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
