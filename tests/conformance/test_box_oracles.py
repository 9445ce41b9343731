"""The oracles of overlaps of boxes against exact arithmetic: areas by clipping in rational numbers, decisions without
any rounding, and of turned boxes with corners that float64 rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from references import disagreements

from diopigen.conformance.oracles import Call
from diopigen.ir.model import Interface

Point = tuple[Fraction, Fraction]


def _twice_area(polygon: Sequence[Point]) -> Fraction:
    pairs = zip(polygon, [*polygon[1:], *polygon[:1]], strict=True)
    return sum((a[0] * b[1] - a[1] * b[0] for a, b in pairs), Fraction())


def _cut(polygon: list[Point], a: Point, b: Point) -> list[Point]:
    """The part of a polygon that is not to the right of the line from a to b."""

    def side(p: Point) -> Fraction:
        return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])

    found: list[Point] = []
    for p, q in zip(polygon, [*polygon[1:], *polygon[:1]], strict=True):
        s, t = side(p), side(q)
        if s >= 0:
            found.append(p)
        if s * t < 0:
            part = s / (s - t)
            found.append((p[0] + part * (q[0] - p[0]), p[1] + part * (q[1] - p[1])))
    return found


def shared(first: list[Point], second: list[Point]) -> Fraction:
    if _twice_area(second) == 0:
        return Fraction()
    way = second if _twice_area(second) > 0 else second[::-1]
    for a, b in zip(way, [*way[1:], *way[:1]], strict=True):
        first = _cut(first, a, b)
    return abs(_twice_area(first)) / 2


def _rotated(box: Sequence[float]) -> list[Point]:
    x, y, width, height, angle = (float(number) for number in box)
    along = (math.cos(angle) * width / 2, math.sin(angle) * width / 2)
    across = (-math.sin(angle) * height / 2, math.cos(angle) * height / 2)
    signs = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    return [(Fraction(x + i * along[0] + k * across[0]), Fraction(y + i * along[1] + k * across[1])) for i, k in signs]


def _rows(values: Any) -> list[list[Fraction]]:
    return [[Fraction(float(number)) for number in row] for row in values]


def _ratio(part: Fraction, whole: Fraction) -> float:
    return float(part / whole) if whole != 0 else math.nan


def _common(a: Sequence[Fraction], b: Sequence[Fraction], offset: int) -> Fraction:
    width = min(a[2], b[2]) - max(a[0], b[0]) + offset
    height = min(a[3], b[3]) - max(a[1], b[1]) + offset
    return max(width, Fraction()) * max(height, Fraction())


def _area(a: Sequence[Fraction], offset: int) -> Fraction:
    return (a[2] - a[0] + offset) * (a[3] - a[1] + offset)


def _pairs(call: Call, rows: int, columns: int, share: Callable[[int, int], float]) -> Any:
    pairs = [(i, i) for i in range(rows)] if call["aligned"] else [(i, k) for i in range(rows) for k in range(columns)]
    return np.array([share(i, k) for i, k in pairs], np.float64).reshape(call.shapes["ious"])


def _bbox_overlaps(call: Call) -> Mapping[str, Any]:
    first, second, offset = _rows(call["bboxes1"]), _rows(call["bboxes2"]), int(call["offset"])

    def share(i: int, k: int) -> float:
        common = _common(first[i], second[k], offset)
        whole = _area(first[i], offset) + (_area(second[k], offset) - common if call["mode"] == 0 else 0)
        return _ratio(common, max(whole, Fraction(offset)))

    return {"ious": _pairs(call, len(first), len(second), share)}


def _quadrilaterals(call: Call, corners: Callable[[Any], list[Point]]) -> Mapping[str, Any]:
    first, second = ([corners(row) for row in call[name]] for name in ("bboxes1", "bboxes2"))

    def share(i: int, k: int) -> float:
        areas = [abs(_twice_area(one)) / 2 for one in (first[i], second[k])]
        if min(areas) < 1e-14:
            return 0.0
        common = shared(first[i], second[k])
        return _ratio(common, areas[0] + (areas[1] - common if call["mode"] == 0 else 0))

    return {"ious": _pairs(call, len(first), len(second), share)}


def _corners(row: Any) -> list[Point]:
    numbers = [Fraction(float(number)) for number in row]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _from_above(row: Any) -> list[Point]:
    return _rotated([row[i] for i in (0, 1, 3, 4, 6)])


def _bev(call: Call) -> Mapping[str, Any]:
    first, second = ([_from_above(row) for row in call[name]] for name in ("boxes_a", "boxes_b"))
    areas = [[float(shared(a, b)) for b in second] for a in first]
    return {"ans_overlap": np.array(areas, np.float64).reshape(call.shapes["ans_overlap"])}


def _remaining(order: Sequence[int], above: Callable[[int, int], bool]) -> list[int]:
    found: list[int] = []
    for row in order:
        if not any(above(row, other) for other in found):
            found.append(row)
    return found


def _nms(call: Call) -> Mapping[str, Any]:
    boxes, offset, threshold = _rows(call["dets"]), int(call["offset"]), Fraction(float(call["iou_threshold"]))
    scores = [math.inf if math.isnan(score) else float(score) for score in call["scores"]]
    order = sorted(range(len(boxes)), key=lambda row: -scores[row])

    def above(i: int, k: int) -> bool:
        common = _common(boxes[i], boxes[k], offset)
        whole = _area(boxes[i], offset) + _area(boxes[k], offset) - common
        return whole != 0 and common / whole > threshold

    return {"out": np.array(_remaining(order, above), np.int64)}


def _nms_rotated(call: Call) -> Mapping[str, Any]:
    points = [_rotated(row[:5]) for row in call["dets"]]
    threshold = Fraction(float(np.float32(call["iou_threshold"])))

    def above(i: int, k: int) -> bool:
        areas = [abs(_twice_area(points[row])) / 2 for row in (i, k)]
        if min(areas) < 1e-14:
            return False
        common = shared(points[i], points[k])
        return common / (sum(areas) - common) > threshold

    return {"out": np.array(_remaining([int(row) for row in call["order"]], above), np.int64)}


def _upright(call: Call, points: list[list[Point]]) -> Mapping[str, Any]:
    threshold = Fraction(float(np.float32(call["nms_overlap_thresh"])))

    def above(i: int, k: int) -> bool:
        common = shared(points[i], points[k])
        covered = (abs(_twice_area(points[i])) + abs(_twice_area(points[k]))) / 2 - common
        return common / max(covered, Fraction(1, 10**8)) > threshold

    found = _remaining(range(len(points)), above)
    keep = np.array(call["keep"])
    keep[: len(found)] = found
    return {"keep": keep, "keep_num": np.array(len(found))}


EXACT: dict[str, Callable[[Call], Mapping[str, Any]]] = {
    "BboxOverlapsMmcv": _bbox_overlaps,
    "BoxIouRotatedMmcv": lambda call: _quadrilaterals(call, _rotated),
    "BoxIouQuadriMmcv": lambda call: _quadrilaterals(call, _corners),
    "Iou3dBoxesOverlapBevMmcv": _bev,
    "NmsMmcv": _nms,
    "NmsRotatedMmcv": _nms_rotated,
    "Iou3dNms3dMmcv": lambda call: _upright(call, [_from_above(row) for row in call["boxes"]]),
    "Iou3dNms3dNormalMmcv": lambda call: _upright(call, [_rotated([*row[[0, 1, 3, 4]], 0]) for row in call["boxes"]]),
}
LARGEST = 600
"""Numbers of a case: rational arithmetic takes its time."""


@pytest.mark.parametrize("operator", sorted(EXACT))
def test_the_oracle_agrees_with_exact_arithmetic(interface: Interface, operator: str) -> None:
    compared, wrong = disagreements(interface, operator, EXACT[operator], LARGEST)
    assert compared > 4
    assert not wrong, "\n".join(wrong[:8])
