"""Searches for neighbours in clouds of points. All distances of a pair of clouds are known at once, and sorted.

Which point is found depends on comparisons of distances that a library rounds. Where two distances differ by so little
that its roundings decide (`_ROUNDINGS`), what follows from the comparison is free. Distances that are equal are not:
those of identical points, or of coordinates that are small integers, are computed without error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, Property, oracle
from diopigen.contract.tolerance import epsilon

_ROUNDINGS = 2.5
"""Error bound of a squared distance, in epsilons of the coordinates' dtype (float32 for halves): half an epsilon for
each of a difference, counted twice as it is squared, a product, and two additions."""


def _slack(call: Call, name: str) -> float:
    """By how much of themselves two squared distances may differ and still compare as equal, or the other way round."""
    dtype = call.dtype(name)
    return 2 * _ROUNDINGS * epsilon("float32" if dtype in ("float16", "bfloat16") else dtype)


def _squares(targets: Array, points: Array) -> Array:
    """Squared distances, [..., targets, points], of [..., targets, axes] and [..., points, axes]."""
    found = np.zeros((*targets.shape[:-1], points.shape[-2]), targets.dtype)
    with np.errstate(all="ignore"):
        for axis in range(targets.shape[-1]):
            found += (targets[..., :, None, axis] - points[..., None, :, axis]) ** 2
    return found


def _distances(values: Array) -> Expected:
    # The class grants an epsilon of the value and one of the scale.
    return Expected(values, (_ROUNDINGS - 1) * values)


def _close(ordered: Array, slack: float) -> Array:
    """Positions in a sorted row at which a distance is near its neighbour in the order, but not the same: [...,
    count]."""
    gaps = ordered[..., 1:] - ordered[..., :-1]
    unclear = (gaps > 0) & (gaps <= slack * ordered[..., 1:])
    found = np.zeros(ordered.shape, bool)
    found[..., 1:] |= unclear
    found[..., :-1] |= unclear
    return found


def _nearest(squares: Array, size: int, none: float, slack: float) -> tuple[Array, Array, Array]:
    """The smallest distances of each row, their positions (of equal ones the lower first), and where roundings decide
    on the position. Missing ones have the distance `none` and the position 0."""
    order = np.argsort(squares, axis=-1, kind="stable")
    ordered = np.take_along_axis(squares, order, axis=-1)
    unclear = _close(ordered, slack)
    shape = (*squares.shape[:-1], size)
    distances, positions, free = np.full(shape, none, squares.dtype), np.zeros(shape, np.int64), np.zeros(shape, bool)
    found = min(size, squares.shape[-1])
    exists = ordered[..., :found] < none
    distances[..., :found] = np.where(exists, ordered[..., :found], none)
    positions[..., :found] = np.where(exists, order[..., :found], 0)
    free[..., :found] = unclear[..., :found] & exists
    return distances, positions, free


@oracle("ThreeNnMmcv")
def _three_nn(call: Call) -> Answer:
    squares = _squares(call.wide("unknown"), call.wide("known"))
    distances, positions, free = _nearest(squares, 3, 1e40, _slack(call, "unknown"))
    return {"dist2": _distances(distances), "idx": Expected(positions, free=free)}


@oracle("KnnMmcv")
def _knn(call: Call) -> Answer:
    """Of equally near points any may be found, and in any order: indices are checked by the distances they select."""
    squares = _squares(call.wide("new_xyz_tensor"), call.wide("xyz_tensor"))
    distances, _, _ = _nearest(squares, int(call["nsample"]), 1e10, 0.0)
    slack = _slack(call, "xyz_tensor")

    def complaint(indices: Array, *_: Array) -> str | None:
        return _wrong_neighbours(indices.astype(np.int64), squares, distances, slack)

    return {"dist2_tensor": _distances(distances), "idx_tensor": Property(complaint)}


def _wrong_neighbours(indices: Array, squares: Array, distances: Array, slack: float) -> str | None:
    """The first row [b, m] of indices [b, m, size] that does not select points at these distances, each once."""
    for row in np.ndindex(indices.shape[:-1]):
        found, expected = indices[row], distances[row]
        missing = expected == 1e10
        if np.any(found[missing] != 0):
            return f"row {list(row)}: an index without a point is {found[missing].tolist()} instead of 0"
        present = found[~missing]
        if np.any((present < 0) | (present >= squares.shape[-1])):
            return f"row {list(row)}: an index is outside of the cloud: {present.tolist()}"
        if len(np.unique(present)) != len(present):
            return f"row {list(row)}: a point occurs twice: {present.tolist()}"
        off = np.abs(squares[row][present] - expected[~missing])
        if np.any(off > slack * expected[~missing]):
            return f"row {list(row)}: the points {present.tolist()} are not the nearest in order"
    return None


# ---- balls ----------------------------------------------------------------------------------------------------------


def _ball(row: Array, squares: Array, least: float, end: float, with_itself: bool, slack: float) -> tuple[Array, bool]:
    """A row of the first points at distances in [least, end), and whether roundings decide on one of them."""
    inside = (squares >= least) & (squares < end)
    unclear = np.zeros(squares.shape, bool)
    for border in (least, end):
        off = np.abs(squares - border)
        unclear |= (off > 0) & (off <= slack * border)
    if with_itself:
        inside |= squares == 0
        # A square that is below the normal numbers may be 0.
        unclear |= (squares > 0) & (squares < 1e-37) & (least > 0)
    found = np.flatnonzero(inside)[: len(row)]
    result = row.copy()
    if len(found) and len(row):
        result[:] = found[0]
        result[: len(found)] = found
    return result, bool(np.any(unclear))


def _square(radius: float) -> float:
    """The square of a radius, a float of C."""
    return float(np.float32(radius)) ** 2


@oracle("BallQueryMmcv")
def _ball_query(call: Call) -> Answer:
    squares = _squares(call.wide("center_xyz"), call.wide("xyz"))
    found, free = np.array(call["idx"]), np.zeros(call.shapes["idx"], bool)
    least, end = _square(call["min_radius"]), _square(call["max_radius"])
    for row in np.ndindex(found.shape[:2]):
        found[row], free[row] = _ball(found[row], squares[row], least, end, True, _slack(call, "xyz"))
    return {"idx": Expected(found, free=free)}


@oracle("StackBallQueryMmcv")
def _stack_ball_query(call: Call) -> Answer:
    centres, points = call.wide("center_xyz"), call.wide("xyz")
    counts, of_centres = (call[name].astype(np.int64) for name in ("xyz_batch_cnt", "center_xyz_batch_cnt"))
    first = np.repeat(np.cumsum(counts) - counts, of_centres)
    count = np.repeat(counts, of_centres)
    found, free = np.array(call["idx"]), np.zeros(call.shapes["idx"], bool)
    end = _square(call["max_radius"])
    for row in range(len(found)):
        squares = _squares(centres[row : row + 1], points[first[row] : first[row] + count[row]])[0]
        found[row], free[row] = _ball(found[row], squares, 0.0, end, False, _slack(call, "xyz"))
        if not np.any(squares < end):
            found[row, :1] = -1
    return {"idx": Expected(found, free=free)}


# ---- furthest points ------------------------------------------------------------------------------------------------


def _furthest(near: Array, row: Callable[[int], Array], picks: int, slack: float) -> tuple[Array, Array]:
    """Positions selected from the furthest on, and from where roundings decide on them. `row` gives the distances of
    all points from one; `near`, to the nearest selected one, is lowered."""
    selected, free = np.zeros(picks, np.int64), np.zeros(picks, bool)
    unclear = False
    for pick in range(1, picks):
        np.minimum(near, row(int(selected[pick - 1])), out=near)
        selected[pick] = np.argmax(near)  # the first of equal ones
        best = near[selected[pick]]
        unclear = unclear or bool(np.any((near < best) & (best - near <= slack * best)))
        free[pick] = unclear
    return selected, free


def _sampled(call: Call, row: Callable[[int, int], Array], slack: float) -> tuple[Array, Array, Array]:
    """The lowered distances, the selected points, and where they are open. `row` takes a cloud and a point."""
    near = call.wide("temp_tensor").copy()
    selected, free = np.zeros(call.shapes["idx_tensor"], np.int64), np.zeros(call.shapes["idx_tensor"], bool)
    for b in range(len(near)):
        selected[b], free[b] = _furthest(near[b], partial(row, b), selected.shape[1], slack)
    return near, selected, free


@oracle("FurthestPointSamplingMmcv")
def _furthest_points(call: Call) -> Answer:
    points = call.wide("points_xyz")
    near, selected, free = _sampled(
        call, lambda b, i: _squares(points[b][i : i + 1], points[b])[0], _slack(call, "points_xyz")
    )
    # Where a choice is open, so are the distances that follow from it.
    after = np.repeat(np.asarray(free).any(axis=1), near.shape[1]).reshape(near.shape)
    return {
        "temp_tensor": Expected(near, (_ROUNDINGS - 1) * near, free=after),
        "idx_tensor": Expected(selected, free=free),
    }


@oracle("FurthestPointSamplingWithDistMmcv")
def _furthest_points_by_table(call: Call) -> Answer:
    rows = call.wide("points_dist")
    near, selected, _ = _sampled(call, lambda b, i: np.asarray(rows[b][i]), 0.0)
    return {"temp_tensor": Expected(near), "idx_tensor": Expected(selected)}


# ---- Chamfer distance -----------------------------------------------------------------------------------------------


@oracle("ChamferDistanceMmcv")
def _chamfer(call: Call) -> Answer:
    first, second, slack = call.wide("xyz1"), call.wide("xyz2"), _slack(call, "xyz1")
    squares = _squares(first, second)
    answer: dict[str, Expected] = {}
    for number, of_set in ((1, squares), (2, squares.swapaxes(1, 2))):
        distances, positions, free = _nearest(of_set, 1, np.inf, slack)
        answer[f"dist{number}"] = _distances(distances[..., 0])
        answer[f"idx{number}"] = Expected(positions[..., 0], free=free[..., 0])
    return answer


@oracle("ChamferDistanceBackwardMmcv")
def _chamfer_backward(call: Call) -> Answer:
    sets = call.wide("xyz1"), call.wide("xyz2")
    indices = [call[name].astype(np.int64) for name in ("idx1", "idx2")]
    grad_out = call.wide("grad_dist1"), call.wide("grad_dist2")
    answer: dict[str, Expected] = {}
    for number, (own, other) in enumerate(((0, 1), (1, 0))):
        values = call.wide(f"grad_xyz{number + 1}").copy()
        sizes, terms = np.abs(values), 2
        for b in range(len(values)):
            near, far = indices[own][b], indices[other][b]
            # Its own distances, and those of the other set that it is the nearest of.
            for at, points, others, gradient in (
                (np.arange(len(near)), sets[own][b], sets[other][b][near], grad_out[own][b]),
                (far, sets[own][b][far], sets[other][b], grad_out[other][b]),
            ):
                np.add.at(values[b], at, 2 * gradient[:, None] * (points - others))
                np.add.at(sizes[b], at, 2 * np.abs(gradient)[:, None] * (np.abs(points) + np.abs(others)))
            terms = max(terms, 2 + int(np.bincount(far, minlength=1).max()))
        answer[f"grad_xyz{number + 1}"] = Expected(values, sizes, 2 * terms)
    return answer
