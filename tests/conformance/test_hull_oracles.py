"""The oracles of convex hulls and quadrilaterals against exact arithmetic: areas, sides and orders in rational numbers,
gradients by central differences of those."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

import numpy as np
import pytest
from references import Found, disagreements
from test_box_oracles import Point, shared

from diopigen.conformance.oracles import Call
from diopigen.ir.model import Interface


def _points(row: Any) -> list[Point]:
    numbers = [Fraction(float(number)) for number in row]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _turn(o: Point, a: Point, b: Point) -> Fraction:
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def _hull(points: Sequence[Point]) -> list[Point]:
    """The points that are in no triangle of others, by their angle around the lowest."""
    first = min(points, key=lambda p: (p[1], p[0]))

    def compare(a: Point, b: Point) -> int:
        turn = _turn(first, a, b)
        ways = [(p[0] - first[0]) ** 2 + (p[1] - first[1]) ** 2 for p in (a, b)]
        return -1 if turn > 0 else 1 if turn < 0 else (ways[0] > ways[1]) - (ways[0] < ways[1])

    found = [first]
    for point in sorted({*points} - {first}, key=cmp_to_key(compare)):
        while len(found) > 1 and _turn(found[-2], found[-1], point) <= 0:
            found.pop()
        found.append(point)
    return found


def _area(polygon: Sequence[Point]) -> Fraction:
    pairs = zip(polygon, [*polygon[1:], *polygon[:1]], strict=True)
    return sum((a[0] * b[1] - a[1] * b[0] for a, b in pairs), Fraction()) / 2


def _triangles(corners: list[Point]) -> list[list[Point]]:
    """A simple quadrilateral, cut along the diagonal that is inside."""
    for i in (0, 1):
        pieces = [[corners[i], corners[i + 1], corners[i + 2]], [corners[i], corners[i + 2], corners[(i + 3) % 4]]]
        if _area(pieces[0]) * _area(pieces[1]) >= 0:
            return pieces
    raise AssertionError("sides cross")


def _shares(points: list[Point], corners: list[Point]) -> tuple[Fraction, Fraction, Fraction]:
    """Areas of the hull and the quadrilateral, of both together, and of the hull of both."""
    own = _hull(points)
    common = sum((shared(own, piece) for piece in _triangles(corners)), Fraction())
    return common, _area(own) + abs(_area(corners)) - common, _area(_hull([*points, *corners]))


def _ratio(part: Fraction, whole: Fraction) -> float:
    return float(part / whole) if whole else math.nan


def _convex_iou(call: Call) -> Found:
    sets, others = ([_points(row) for row in call[name]] for name in ("pointsets", "polygons"))
    found = [_ratio(*_shares(points, corners)[:2]) for points in sets for corners in others]
    return {"ious": np.array(found, np.float64).reshape(call.shapes["ious"])}


def _generalized(points: list[Point], corners: list[Point]) -> Fraction:
    common, covered, both = _shares(points, corners)
    return common / covered + covered / both - 1


STEP = Fraction(1, 1 << 30)


def _convex_giou(call: Call) -> Found:
    found = np.zeros(call.shapes["output"])
    for n in range(len(found)):
        points, corners = _points(call["pointsets"][n]), _points(call["polygons"][n])
        found[n, -1] = _generalized(points, corners)
        for i in range(9):
            if points.index(points[i]) < i:
                continue
            for axis in (0, 1):
                ends = []
                for step in (STEP, -STEP):
                    moved = list(points[i])
                    moved[axis] += step
                    # The point in all its copies would be another function: the first one moves alone.
                    rest = [point for k, point in enumerate(points) if k != i and point != points[i]]
                    ends.append(_generalized([*rest, (moved[0], moved[1])], corners))
                found[n, 2 * i + axis] = (ends[0] - ends[1]) / (2 * STEP)
    return {"output": found}


def _min_area(call: Call) -> Found:
    """Along a side (x, y) the extents are dot products with (x, y) and (-y, x): no root but that of the quotient."""
    found = np.zeros(call.shapes["polygons"])
    for n, row in enumerate(call["pointsets"]):
        around = _hull(_points(row))
        best: tuple[Fraction, list[float]] | None = None
        for a, b in zip(around, [*around[1:], *around[:1]], strict=True):
            x, y = b[0] - a[0], b[1] - a[1]
            if x == 0 and y < 0:
                x, y = Fraction(0), Fraction(1)
            square = x * x + y * y
            if square == 0:
                x, square = Fraction(1), Fraction(1)
            while not (x > 0 and y >= 0) and not (x == 0 and y == 1):
                x, y = y, -x
            u, v = ([p[0] * i + p[1] * k for p in around] for i, k in ((x, y), (-y, x)))
            area = (max(u) - min(u)) * (max(v) - min(v)) / square
            ends = ((max(u), min(v)), (min(u), min(v)), (min(u), max(v)), (max(u), max(v)))
            corners = [float(one / square) for p, q in ends for one in (p * x - q * y, p * y + q * x)]
            if best is None or area < best[0]:
                best = area, corners
        assert best is not None
        found[n] = best[1]
    return {"polygons": found}


def _inside(point: Point, corners: list[Point]) -> bool:
    """By how many sides a half line to the left crosses."""
    crossed = 0
    for a, b in zip(corners, [*corners[1:], *corners[:1]], strict=True):
        if (a[1] > point[1]) != (b[1] > point[1]):
            crossed += a[0] + (point[1] - a[1]) * (b[0] - a[0]) / (b[1] - a[1]) < point[0]
    return crossed % 2 == 1


def _points_inside(call: Call) -> Found:
    points = [(Fraction(float(x)), Fraction(float(y))) for x, y in call["points"]]
    others = [_points(row) for row in call["polygons"]]
    found = [_inside(point, corners) for point in points for corners in others]
    return {"output": np.array(found, np.float64).reshape(call.shapes["output"])}


def _sorted(call: Call) -> Found:
    """By half planes and the side that one is on as seen from the other."""
    vertices, mask = call["vertices"], call["mask"].astype(bool)
    found = np.zeros((*mask.shape[:2], 9), np.int64)
    for b, n in np.ndindex(*mask.shape[:2]):
        spots = [(Fraction(float(x)), Fraction(float(y))) for x, y in vertices[b, n]]

        def compare(i: int, k: int, spots: list[Point] = spots) -> int:
            halves = [spots[at][1] < 0 for at in (i, k)]
            if halves[0] != halves[1]:
                return 1 if halves[0] else -1
            turn = _turn((Fraction(), Fraction()), spots[i], spots[k])
            return -1 if turn > 0 else 1 if turn < 0 else i - k

        order = sorted((int(i) for i in np.nonzero(mask[b, n])[0]), key=cmp_to_key(compare))
        if len(order) == 8 and len({spots[i] for i in order}) == 4:
            order = order[::2]
        none = next(i for i in range(8, mask.shape[2]) if not mask[b, n, i])
        padded = [*order, order[0], *[none] * 9] if len(order) > 2 else [none] * 9
        found[b, n] = padded[:9]
    return {"out": found}


EXACT: dict[str, Callable[[Call], Found]] = {
    "ConvexIouMmcv": _convex_iou,
    "ConvexGiouMmcv": _convex_giou,
    "MinAreaPolygonsMmcv": _min_area,
    "PointsInPolygonsMmcv": _points_inside,
    "DiffIouRotatedSortVerticesMmcv": _sorted,
}
LARGEST = {"ConvexGiouMmcv": 150, "ConvexIouMmcv": 300}
"""Numbers of a case: rational arithmetic takes its time."""


@pytest.mark.parametrize("operator", sorted(EXACT))
def test_the_oracle_agrees_with_exact_arithmetic(interface: Interface, operator: str) -> None:
    compared, wrong = disagreements(interface, operator, EXACT[operator], LARGEST.get(operator, 1500))
    assert compared > 4
    assert not wrong, "\n".join(wrong[:8])
