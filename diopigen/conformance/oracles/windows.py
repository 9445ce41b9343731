"""Windows over trailing dimensions: where they lie, what they see, and the way back."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Call

Dims = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sliding:
    """A window per dimension: how many elements, how far apart, and where the first one starts: `step * i - pad`."""

    window: Dims
    steps: Dims
    pads: Dims
    spreads: Dims

    @property
    def volume(self) -> int:
        """Number of elements of a window."""
        return math.prod(self.window)

    def _offsets(self) -> Iterator[Dims]:
        for offset in itertools.product(*(range(size) for size in self.window)):
            yield tuple(o * spread for o, spread in zip(offset, self.spreads, strict=True))

    def _padded(self, sizes: Sequence[int], positions: Sequence[int]) -> list[tuple[int, int]]:
        """Padding in front and behind, so that all windows are inside."""
        ends = [
            (position - 1) * step + (window - 1) * spread + 1
            for position, step, window, spread in zip(positions, self.steps, self.window, self.spreads, strict=True)
        ]
        return [(pad, max(end - size - pad, 0)) for pad, end, size in zip(self.pads, ends, sizes, strict=True)]

    def _positions(self, offset: Dims, positions: Sequence[int]) -> tuple[Any, ...]:
        """The elements that one offset inside the window meets over all windows."""
        steps = zip(offset, self.steps, positions, strict=True)
        return (..., *(slice(o, o + step * (count - 1) + 1, step) for o, step, count in steps))

    def seen(self, x: Array, positions: Sequence[int]) -> Array:
        """All elements of each window, zero in the padding, as a new first dimension in row-major order."""
        count = len(self.window)
        widths = [(0, 0)] * (x.ndim - count) + self._padded(x.shape[-count:], positions)
        padded = np.pad(x, widths)
        return np.stack([padded[self._positions(offset, positions)] for offset in self._offsets()])

    def put_back(self, layers: Array, sizes: Sequence[int]) -> Array:
        """The transpose of `seen`: what belongs to one element is added up, what belongs to padding is dropped."""
        count = len(self.window)
        positions = layers.shape[-count:]
        widths = self._padded(sizes, positions)
        room = [size + front + behind for size, (front, behind) in zip(sizes, widths, strict=True)]
        padded = np.zeros((*layers.shape[1:-count], *room), dtype=layers.dtype)
        for layer, offset in zip(layers, self._offsets(), strict=True):
            padded[self._positions(offset, positions)] += layer
        inside = tuple(slice(front, front + size) for size, (front, _) in zip(sizes, widths, strict=True))
        whole: Any = (..., *inside)
        return np.asarray(padded[whole])


def sizes_of(call: Call, name: str, count: int, fallback: Sequence[int] = ()) -> Dims:
    """A list with one entry per dimension; an empty one stands for the fallback."""
    found = tuple(call[name]) or tuple(fallback)
    assert len(found) == count
    return found


@dataclass(frozen=True, slots=True)
class Position:
    """One window of a pooling: its place among the results, what it sees, and its length with the padding it counts."""

    at: Dims
    elements: tuple[slice, ...]
    padded: int


def _sliding_positions(sizes: Sequence[int], positions: Sequence[int], sliding: Sliding) -> Iterator[Position]:
    for at in itertools.product(*(range(count) for count in positions)):
        elements, padded = [], 1
        for k, size in enumerate(sizes):
            start = at[k] * sliding.steps[k] - sliding.pads[k]
            inside = [start + i * sliding.spreads[k] for i in range(sliding.window[k])]
            inside = [position for position in inside if 0 <= position < size]
            elements.append(slice(inside[0], inside[-1] + 1, sliding.spreads[k]) if inside else slice(0, 0))
            # What ceil_mode adds behind the padding never counts.
            padded *= min(start + sliding.window[k], size + sliding.pads[k]) - start
        yield Position(at, tuple(elements), padded)


def _adaptive_positions(sizes: Sequence[int], positions: Sequence[int]) -> Iterator[Position]:
    """The window of each result: from floor(i * n / m) to ceil((i + 1) * n / m)."""
    for at in itertools.product(*(range(count) for count in positions)):
        ends = [(i * n // m, -(-(i + 1) * n // m)) for i, n, m in zip(at, sizes, positions, strict=True)]
        yield Position(at, tuple(slice(*end) for end in ends), math.prod(end - begin for begin, end in ends))


def dimensions(call: Call) -> int:
    """Number of dimensions of the windows of an operator, from its name: 2 for `MaxPool2dBackward`."""
    found = re.search(r"([123])d", call.function.operator)
    assert found is not None
    return int(found[1])


def pool_positions(call: Call, pooled: str) -> list[Position]:
    """The windows of a pooling operator over `input`, whose results have the shape of the parameter `pooled`."""
    count = dimensions(call)
    sizes, positions = call.shapes["input"][-count:], call.shapes[pooled][-count:]
    if call.function.operator.startswith("Adaptive") or call.values.get("adaptive"):
        return list(_adaptive_positions(sizes, positions))
    window = sizes_of(call, "kernel_size" if "kernel_size" in call.values else "ksize", count)
    spreads: Dims = (1,) * count
    if "dilation" in call.values and call.values.get("mode") != "avg":
        spreads = sizes_of(call, "dilation", count)
    steps = sizes_of(call, "stride", count, window)
    return list(_sliding_positions(sizes, positions, Sliding(window, steps, sizes_of(call, "padding", count), spreads)))
