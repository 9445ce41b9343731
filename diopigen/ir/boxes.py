"""Boxes, regions and points as detectors hand them on: spread over an image or a scene, the same in every case.

They follow from the row alone and not from a seed, so that two tensors of a call that hold the same boxes agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

PLACED = {"boxes": (4, 5, 7, 8), "regions": (5, 6), "points": tuple(range(3, 9))}
"""The distributions of this module, and the sizes of the last dimension that they have a meaning for."""

_STEPS = tuple(1.1347241384015194**-power for power in range(1, 9))
"""Powers of the root of x^6 = x + 1: the multiples of the first five, without their whole part, fill the unit cube."""


def rows_of(values: str, shape: tuple[int, ...], arguments: tuple[int | float, ...]) -> list[list[float]] | None:
    """The rows of a tensor, by the size of its last dimension; None where that has no meaning. `boxes(width, height)`
    are corners (4), centre, size and angle (5), the centre of the bottom, sizes and heading in a scene (7), the corners
    of a quadrilateral (8). `regions(images, width, height)` have the number of an image in front. `points(x, y, z)` are
    in [0, x), [-y / 2, y / 2) and [-3z / 4, z / 4), at odd multiples of 1/128, with further columns in [0, 1)."""
    if not shape or shape[-1] not in PLACED[values]:
        return None
    rows = range(math.prod(shape[:-1]))
    if values == "boxes":
        return [_box(row, shape[-1], *arguments) for row in rows]
    if values == "points":
        return [_point(row, shape[-1], *arguments) for row in rows]
    images, *extent = arguments
    return [[row % int(images), *_box(row, shape[-1] - 1, *extent)] for row in rows]


def _point(row: int, columns: int, *extent: float) -> list[float]:
    found = [_even(row, column) for column in range(columns)]
    for column, (size, start) in enumerate(zip(extent, (0.0, 0.5, 0.75), strict=True)):
        found[column] = (math.floor(64 * size * (found[column] - start)) + 0.5) / 64
    return found


def _even(row: int, column: int) -> float:
    return (0.5 + (row + 1) * _STEPS[column]) % 1


def _box(row: int, columns: int, width: float, height: float) -> list[float]:
    u, v, size, stretch, turn = (_even(row, column) for column in range(5))
    x, y, angle = u * width, v * height, math.pi * (turn - 0.5)
    side = min(width, height) * 2.0 ** (4.5 * size - 6)
    dx, dy = side * 2.0 ** (stretch - 0.5), side * 2.0 ** (0.5 - stretch)
    if columns == 5:
        return [x, y, dx, dy, angle]
    if columns == 7:
        return [x, y, 4 * turn - 3, dx, dy, 1 + size, 2 * angle]
    if columns == 8:
        return list(_corners(x, y, dx / 2, dy / 2, angle))
    low, high = (x - dx / 2, y - dy / 2), (x + dx / 2, y + dy / 2)
    return [min(max(at, 0.0), end) for corner in (low, high) for at, end in zip(corner, (width, height), strict=True)]


def _corners(x: float, y: float, a: float, b: float, angle: float) -> Iterator[float]:
    cosine, sine = math.cos(angle), math.sin(angle)
    for p, q in ((-a, -b), (a, -b), (a, b), (-a, b)):
        yield x + p * cosine - q * sine
        yield y + p * sine + q * cosine
