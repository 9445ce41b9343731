"""Convex hulls of nine points against quadrilaterals: overlaps with gradients, the rectangle of least area, points
inside, and vertices in order.

Gradients are propagated: a coordinate is its value with its derivatives for the 18 coordinates of the points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, oracle
from diopigen.conformance.oracles.overlaps import Points, area, hull, shared

_POINTS = 9


def _points(row: Array) -> Points:
    return [(x, y) for x, y in row.reshape(-1, 2)]


def _turn(o: Any, a: Any, b: Any) -> Any:
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


# ---- a quadrilateral as its hull without the corner that points inwards ---------------------------------------------


def _ear(corners: Points) -> Points:
    """Difference of the hull of a quadrilateral and the quadrilateral: a triangle, or nothing."""
    around = hull(corners)
    for i, corner in enumerate(corners):
        if len(around) == 3 and corner not in around:
            return [corners[i - 1], corner, corners[(i + 1) % 4]]
    return []


def _shared(points: Points, corners: Points) -> float:
    return shared(points, corners) - (shared(points, ear) if (ear := _ear(corners)) else 0)


def _extent(points: Points) -> float:
    return float(max(max(p[i] for p in points) - min(p[i] for p in points) for i in (0, 1)))


@oracle("ConvexIouMmcv")
def _convex_iou(call: Call) -> Answer:
    sets, others = call.wide("pointsets"), call.wide("polygons")
    values, sizes = (np.zeros(call.shapes["ious"], np.longdouble) for _ in range(2))
    for n, k in np.ndindex(*values.shape):
        points, corners = _points(sets[n]), _points(others[k])
        common = _shared(points, corners)
        covered = area(hull(points)) + abs(area(corners)) - common
        with np.errstate(all="ignore"):
            values[n, k] = np.longdouble(common) / covered
            sizes[n, k] = min(_extent(points), _extent(corners)) * (_extent(points) + _extent(corners)) / covered
    return {"ious": Expected(values, sizes)}


# ---- numbers with their derivatives ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Dual:
    value: Any
    slopes: Array

    def __add__(self, other: _Dual) -> _Dual:
        return _Dual(self.value + other.value, self.slopes + other.slopes)

    def __sub__(self, other: _Dual) -> _Dual:
        return _Dual(self.value - other.value, self.slopes - other.slopes)

    def __mul__(self, other: _Dual) -> _Dual:
        return _Dual(self.value * other.value, self.value * other.slopes + other.value * self.slopes)

    def __truediv__(self, other: _Dual) -> _Dual:
        ratio = self.value / other.value
        return _Dual(ratio, (self.slopes - ratio * other.slopes) / other.value)

    def times(self, factor: Any) -> _Dual:
        return _Dual(self.value * factor, self.slopes * factor)


_Corners = list[tuple[_Dual, _Dual]]


def _values(corners: _Corners) -> Points:
    return [(x.value, y.value) for x, y in corners]


def _number(value: Any) -> _Dual:
    return _Dual(value, np.zeros(2 * _POINTS, np.longdouble))


def _dual_area(corners: _Corners) -> _Dual:
    total = _number(np.longdouble(0))
    for a, b in pairwise(corners[1:]):
        total = total + _turn(corners[0], a, b).times(0.5)
    return total


def _cut(corners: _Corners, a: tuple[_Dual, _Dual], b: tuple[_Dual, _Dual]) -> _Corners:
    found: _Corners = []
    for p, q in zip(corners, corners[1:] + corners[:1], strict=True):
        s, t = _turn(a, b, p), _turn(a, b, q)
        if s.value >= 0:
            found.append(p)
        if s.value * t.value < 0:
            part = s / (s - t)
            found.append((p[0] + part * (q[0] - p[0]), p[1] + part * (q[1] - p[1])))
    return found


def _dual_shared(corners: _Corners, other: Points) -> _Dual:
    sides = hull(other)
    constant = [(_number(x), _number(y)) for x, y in sides]
    for a, b in zip(constant, constant[1:] + constant[:1], strict=True):
        corners = _cut(corners, a, b)
    return _dual_area(corners) if len(sides) > 2 else _number(np.longdouble(0))


def _from_first(around: Points, points: Points) -> list[int]:
    return [points.index(corner) for corner in around]


def _distance(point: tuple[Any, Any], a: tuple[Any, Any], b: tuple[Any, Any]) -> float:
    """From a point to a side."""
    length = math.hypot(b[0] - a[0], b[1] - a[1])
    if length == 0:
        return math.hypot(point[0] - a[0], point[1] - a[1])
    along = ((point[0] - a[0]) * (b[0] - a[0]) + (point[1] - a[1]) * (b[1] - a[1])) / length
    if not 0 <= along <= length:
        return min(math.hypot(point[0] - end[0], point[1] - end[1]) for end in (a, b))
    return abs(float(_turn(a, b, point))) / length


def _is_at_a_bend(points: Points, corners: Points) -> bool:
    """Returns whether a corner of one is on the border of the other, or a point nearly on the hull of both: gradients
    jump."""
    own, least = hull(points), 1e-6 * (_extent(points) + _extent(corners))

    def touches(some: Points, border: Points) -> bool:
        sides = list(zip(border, border[1:] + border[:1], strict=True))
        return any(_distance(point, a, b) < least for point in some for a, b in sides)

    both = hull(own + corners)
    loose = [point for point in own + corners if point not in both]
    hidden = [point for point in points if point not in own]
    return touches(own, corners) or touches(corners, own) or touches(loose, both) or touches(hidden, own)


@oracle("ConvexGiouMmcv")
def _convex_giou(call: Call) -> Answer:
    sets, others = call.wide("pointsets").astype(np.longdouble), call.wide("polygons").astype(np.longdouble)
    values, sizes = (np.zeros(call.shapes["output"], np.longdouble) for _ in range(2))
    free = np.zeros(values.shape, np.bool_)
    unit = np.eye(2 * _POINTS, dtype=np.longdouble)
    for n in range(len(sets)):
        points, corners = _points(sets[n]), _points(others[n])
        dual = [(_Dual(x, unit[2 * i]), _Dual(y, unit[2 * i + 1])) for i, (x, y) in enumerate(points)]
        own = [dual[i] for i in _from_first(hull(points), points)]
        common = _dual_shared(own, corners)
        ear = _ear(corners)
        if ear:
            common = common - _dual_shared(own, ear)
        both = hull(_values(own) + corners)
        constant = {corner: (_number(corner[0]), _number(corner[1])) for corner in corners}
        around = [own[_values(own).index(p)] if p in _values(own) else constant[p] for p in both]
        covered = _dual_area(own) + _number(abs(area(corners))) - common
        with np.errstate(all="ignore"):
            whole = _dual_area(around)
            found = common / covered + covered / whole - _number(np.longdouble(1))
        values[n] = [*found.slopes, found.value]
        reach = _extent(points) + _extent(corners)
        sizes[n, :-1] = reach * (1 / covered.value + 1 / whole.value) * (1 + reach**2 / covered.value)
        sizes[n, -1] = 1 + reach**2 / covered.value
        free[n, :-1] = _is_at_a_bend(points, corners)
    return {"output": Expected(values, sizes, free=free)}


# ---- the rectangle of least area ------------------------------------------------------------------------------------


def _rectangles(points: Points) -> list[tuple[Any, Array]]:
    """Area and corners of the rectangle along each side of the hull, in its order from the lowest point."""
    around = hull(points)
    first = min(range(len(around)), key=lambda i: (around[i][1], around[i][0]))
    around = around[first:] + around[:first]
    found = []
    rows = np.array(points, np.longdouble)
    for a, b in zip(around, around[1:] + around[:1], strict=True):
        quarter = np.arctan2(np.longdouble(1), np.longdouble(0))
        angle = np.arctan2(np.longdouble(b[1] - a[1]), np.longdouble(b[0] - a[0]))
        angle = angle % quarter if angle >= 0 else angle - np.trunc(angle / quarter - 1) * quarter
        cosine, sine = np.cos(angle), np.sin(angle)
        x, y = rows[:, 0] * cosine + rows[:, 1] * sine, rows[:, 1] * cosine - rows[:, 0] * sine
        u = np.array([x.max(), x.min(), x.min(), x.max()])
        v = np.array([y.min(), y.min(), y.max(), y.max()])
        corners = np.stack([u * cosine - v * sine, u * sine + v * cosine], axis=1).reshape(-1)
        found.append(((x.max() - x.min()) * (y.max() - y.min()), corners))
    return found


@oracle("MinAreaPolygonsMmcv")
def _min_area(call: Call) -> Answer:
    sets = call.wide("pointsets")
    values, sizes = (np.zeros(call.shapes["polygons"], np.longdouble) for _ in range(2))
    free = np.zeros(values.shape, np.bool_)
    for n, row in enumerate(sets):
        points = _points(row)
        found = _rectangles(points)
        least = min(one for one, _ in found)
        extent = _extent(points)
        # Of nearly equal areas rounding decides, unless they are those of one rectangle.
        near = [corners for one, corners in found if one <= least + 1e-5 * extent**2]
        values[n] = near[0]
        free[n] = any(np.abs(corners - near[0]).max() > 1e-6 * extent for corners in near)
        sizes[n] = 1e-3 * extent + np.abs(row).max() + _bend(points)
    return {"polygons": Expected(values, sizes, free=free)}


def _bend(points: Points) -> float:
    """Sensitivity of corners to the direction of a side, by the shortest side of the hull."""
    around = hull(points)
    sides = [math.hypot(b[0] - a[0], b[1] - a[1]) for a, b in zip(around, around[1:] + around[:1], strict=True)]
    reach = max(abs(float(number)) for point in points for number in point)
    return 0.0 if len(around) < 2 else reach * _extent(points) / min(sides)


# ---- points inside --------------------------------------------------------------------------------------------------


@oracle("PointsInPolygonsMmcv")
def _points_in_polygons(call: Call) -> Answer:
    """By how often the border goes around a point; quadrilaterals that cross themselves by the parity of that."""
    points, others = call.wide("points"), call.wide("polygons")
    values = np.zeros(call.shapes["output"])
    free = np.zeros(values.shape, np.bool_)
    for n, k in np.ndindex(*values.shape):
        corners = _points(others[k])
        turns = 0
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
            side = float(_turn(a, b, points[n]))
            if a[1] <= points[n][1] < b[1]:
                turns += side > 0
            elif b[1] <= points[n][1] < a[1]:
                turns -= side < 0
            free[n, k] |= _distance(tuple(points[n]), a, b) < 1e-6 * _extent([*corners, tuple(points[n])])
        values[n, k] = turns % 2
    return {"output": Expected(values, free=free)}


# ---- vertices in order ----------------------------------------------------------------------------------------------


@oracle("DiffIouRotatedSortVerticesMmcv")
def _sort_vertices(call: Call) -> Answer:
    vertices, mask = call.wide("vertices"), call["mask"].astype(np.bool_)
    shape = (*mask.shape[:2], 9)
    values = np.zeros(shape, np.int64)
    free = np.zeros(shape, np.bool_)
    for b, n in np.ndindex(*shape[:2]):
        none = 8 + int(np.argmin(mask[b, n, 8:]))
        valid = np.nonzero(mask[b, n])[0]
        values[b, n] = none
        if len(valid) < 3:
            continue
        x, y = vertices[b, n, valid].T
        angles = np.arctan2(y, x) % (2 * np.pi)
        order = np.argsort(angles, kind="stable")
        near = np.abs(np.diff(np.append(angles[order], angles[order[0]] + 2 * np.pi))) < 1e-6
        found = valid[order]
        if len(valid) == 8 and _are_pairs(vertices[b, n, found]):
            found = found[::2]
        elif near.any() or np.any((y == 0) | (np.abs(y) < 1e-7)):
            free[b, n] = True
        values[b, n, : len(found) + 1] = [*found, found[0]]
    return {"out": Allocated(Expected(values, free=free), "int32")}


def _are_pairs(vertices: Array) -> bool:
    return bool(np.all(np.abs(vertices[::2] - vertices[1::2]) <= 1e-8))
