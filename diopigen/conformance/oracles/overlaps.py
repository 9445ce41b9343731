"""Overlaps of boxes, upright or rotated, and of quadrilaterals, and suppression by them.

Two convex polygons share the hull of the corners of each that are in the other, and of the points where sides cross.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, oracle

Points = list[tuple[float, float]]


def _turn(o: tuple[float, float], a: tuple[float, float], b: tuple[float, float]) -> float:
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def hull(points: Points) -> Points:
    """The convex hull in rising angle, from the first point by x and then y (Andrew's monotone chain)."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered

    def chain(way: Sequence[tuple[float, float]]) -> Points:
        found: Points = []
        for point in way:
            while len(found) > 1 and _turn(found[-2], found[-1], point) <= 0:
                found.pop()
            found.append(point)
        return found[:-1]

    return chain(ordered) + chain(ordered[::-1])


def area(points: Points) -> float:
    """Of a polygon by the formula of its corners, positive where they go from x to y."""
    first = points[0] if points else (0, 0)
    pairs = zip(points, points[1:] + points[:1], strict=True)
    return sum((_turn(first, a, b) for a, b in pairs), 0.0 * first[0]) / 2


def _inside(point: tuple[float, float], polygon: Points) -> bool:
    """Returns whether a point is in a convex polygon that goes from x to y, or next to its border."""
    for a, b in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        near = 1e-13 * (abs(b[0] - a[0]) + abs(b[1] - a[1])) * (1 + abs(point[0] - a[0]) + abs(point[1] - a[1]))
        if _turn(a, b, point) < -near:
            return False
    return True


def shared(first: Points, second: Points) -> float:
    """The area that two convex polygons share."""
    for axis in (0, 1):
        if max(p[axis] for p in first) < min(p[axis] for p in second):
            return 0.0
        if max(p[axis] for p in second) < min(p[axis] for p in first):
            return 0.0
    one, two = hull(first), hull(second)
    if len(one) < 3 or len(two) < 3:
        return 0.0
    found = [point for point in one if _inside(point, two)] + [point for point in two if _inside(point, one)]
    for a, b in zip(one, one[1:] + one[:1], strict=True):
        for c, d in zip(two, two[1:] + two[:1], strict=True):
            across = (b[0] - a[0]) * (d[1] - c[1]) - (b[1] - a[1]) * (d[0] - c[0])
            if across != 0:
                part = _turn(a, c, d) / across
                other = ((c[0] - a[0]) * (b[1] - a[1]) - (c[1] - a[1]) * (b[0] - a[0])) / across
                if 0 <= part <= 1 and 0 <= other <= 1:
                    found.append((a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])))
    return abs(area(hull(found)))


def rotated_box(x: float, y: float, width: float, height: float, angle: float) -> Points:
    """The corners of a box that is rotated about its centre from x to y."""
    cosine, sine = np.cos(angle), np.sin(angle)
    halves = ((-width, -height), (width, -height), (width, height), (-width, height))
    return [(x + (cosine * u - sine * v) / 2, y + (sine * u + cosine * v) / 2) for u, v in halves]


def _spread(points: Points) -> float:
    return float(max(np.hypot(a[0] - b[0], a[1] - b[1]) for a in points for b in points))


# ---- boxes along the axes -------------------------------------------------------------------------------------------


def _common(one: Array, others: Array, offset: int) -> tuple[Array, Array]:
    """The areas that boxes share, and the sizes of what was multiplied."""
    sides = np.minimum(one[..., 2:], others[..., 2:]) - np.maximum(one[..., :2], others[..., :2])
    return np.maximum(sides + offset, 0).prod(axis=-1), (np.abs(sides) + offset).prod(axis=-1)


def _area(boxes: Array, offset: int) -> Array:
    return np.asarray((boxes[..., 2:] - boxes[..., :2] + offset).prod(axis=-1))


@oracle("BboxOverlapsMmcv")
def _bbox_overlaps(call: Call) -> Answer:
    first, second, offset = call.wide("bboxes1"), call.wide("bboxes2"), int(call["offset"])
    if not call["aligned"]:
        first = first[:, None]
    common, sizes = _common(first, second, offset)
    whole = _area(first, offset) + 0 * common
    if call["mode"] == 0:
        whole = whole + _area(second, offset) - common
    whole = np.maximum(whole, offset)
    with np.errstate(all="ignore"):
        values, sizes = common / whole, np.where(common > 0, sizes, 0) / whole
    shape = call.shapes["ious"]
    return {"ious": Expected(values.reshape(shape), sizes.reshape(shape))}


def suppressed(count: int, overlaps: Callable[[int, list[int]], bool]) -> list[int]:
    """The numbers of those that overlap none before them that stays: `overlaps` takes a row and all those before it."""
    retained: list[int] = []
    for row in range(count):
        if not overlaps(row, retained):
            retained.append(row)
    return retained


@oracle("NmsMmcv")
def _nms(call: Call) -> Answer:
    boxes, scores, offset = call.wide("dets"), call.wide("scores"), int(call["offset"])
    order = np.lexsort((-scores, ~np.isnan(scores)))
    ordered = boxes[order]
    common = _common(ordered[:, None], ordered, offset)[0]
    areas = _area(ordered, offset)
    with np.errstate(all="ignore"):
        above = common / (areas[:, None] + areas - common) > float(call["iou_threshold"])
    found = order[suppressed(len(order), lambda row, others: bool(above[row, others].any()))]
    return {"out": Allocated(Expected(np.asarray(found, np.int64)), "int64")}


# ---- rotated boxes and quadrilaterals --------------------------------------------------------------------------------


def _share(first: Points, second: Points, areas: tuple[float, float], mode: int) -> tuple[float, float]:
    """The overlap, and the size that it is measured by: how much the area changes with the corners."""
    if min(areas) < 1e-14:
        return 0.0, 0.0
    common = shared(first, second)
    whole = areas[0] if mode == 1 else areas[0] + areas[1] - common
    spreads = (_spread(first), _spread(second))
    return common / whole, min(spreads) * sum(spreads) / whole


def _shares(call: Call, first: list[Points], second: list[Points], areas: tuple[Array, Array]) -> Answer:
    aligned = bool(call["aligned"])
    pairs = [(i, k) for i in range(len(first)) for k in ([i] if aligned else range(len(second)))]
    mode = int(call["mode"])
    found = [_share(first[i], second[k], (float(areas[0][i]), float(areas[1][k])), mode) for i, k in pairs]
    values = np.array(found, np.float64).reshape(len(pairs), 2)
    shape = call.shapes["ious"]
    return {"ious": Expected(values[:, 0].reshape(shape), values[:, 1].reshape(shape))}


@oracle("BoxIouRotatedMmcv")
def _box_iou_rotated(call: Call) -> Answer:
    boxes = call.wide("bboxes1"), call.wide("bboxes2")
    first, second = ([rotated_box(*box) for box in one.tolist()] for one in boxes)
    return _shares(call, first, second, (boxes[0][:, 2] * boxes[0][:, 3], boxes[1][:, 2] * boxes[1][:, 3]))


@oracle("BoxIouQuadriMmcv")
def _box_iou_quadri(call: Call) -> Answer:
    first, second = ([_pairs(row) for row in call.wide(name).tolist()] for name in ("bboxes1", "bboxes2"))
    areas = tuple(np.array([abs(area(points)) for points in one]) for one in (first, second))
    return _shares(call, first, second, (areas[0], areas[1]))


def _pairs(row: list[float]) -> Points:
    return list(zip(row[::2], row[1::2], strict=True))


@oracle("Iou3dBoxesOverlapBevMmcv")
def _boxes_overlap_bev(call: Call) -> Answer:
    first, second = (_from_above(call.wide(name)) for name in ("boxes_a", "boxes_b"))
    values = np.zeros(call.shapes["ans_overlap"])
    sizes = np.zeros(values.shape)
    for i, one in enumerate(first):
        for k, other in enumerate(second):
            values[i, k] = shared(one, other)
            reach = float(np.abs(one + other).max())
            sizes[i, k] = min(_spread(one), _spread(other)) * (reach + _spread(one) + _spread(other))
    return {"ans_overlap": Expected(values, sizes)}


def _from_above(boxes: Array) -> list[Points]:
    return [rotated_box(*box) for box in boxes[:, [0, 1, 3, 4, 6]].tolist()]


@oracle("NmsRotatedMmcv")
def _nms_rotated(call: Call) -> Answer:
    boxes = call.wide("dets_sorted")
    points = [rotated_box(*map(float, box)) for box in boxes[:, :5]]
    areas = boxes[:, 2] * boxes[:, 3]

    def above(i: int, k: int) -> bool:
        overlap = _share(points[i], points[k], (float(areas[i]), float(areas[k])), 0)[0]
        return bool(overlap > np.float32(call["iou_threshold"]))

    found = call["order"][suppressed(len(boxes), lambda row, others: any(above(row, k) for k in others))]
    return {"out": Allocated(Expected(np.asarray(found, np.int64)), "int64")}


def _suppressed_3d(call: Call, overlaps: Callable[[Callable[..., Array], int, list[int]], bool]) -> Answer:
    """`overlaps` takes: whether an area is too much for a box to share with others, the box, the others."""
    boxes, threshold = call.wide("boxes"), float(np.float32(call["nms_overlap_thresh"]))
    areas = boxes[:, 3] * boxes[:, 4]

    def is_above(row: int, others: int | list[int], common: float | Array) -> Array:
        return np.asarray(common / np.maximum(areas[row] + areas[others] - common, 1e-8) > threshold)

    found = suppressed(len(boxes), lambda row, others: overlaps(is_above, row, others))
    keep = np.array(call["keep"])
    keep[: len(found)] = found
    return {"keep": Expected(keep), "keep_num": Expected(np.array(len(found)))}


@oracle("Iou3dNms3dMmcv")
def _nms3d(call: Call) -> Answer:
    points = _from_above(call.wide("boxes"))
    return _suppressed_3d(
        call, lambda above, row, others: any(above(row, k, shared(points[row], points[k])) for k in others)
    )


@oracle("Iou3dNms3dNormalMmcv")
def _nms3d_normal(call: Call) -> Answer:
    boxes = call.wide("boxes")
    halves = boxes[:, 3:5] / 2
    corners = np.concatenate([boxes[:, :2] - halves, boxes[:, :2] + halves], axis=1)
    return _suppressed_3d(
        call, lambda above, row, others: bool(above(row, others, _common(corners[row], corners[others], 0)[0]).any())
    )
