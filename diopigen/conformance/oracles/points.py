"""Clouds of points: features by index, and their gradients."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle


def _of_picks(call: Call) -> Array:
    """The point of each pick as an index into [clouds, channels, points], along the last dimension; [clouds, picks]."""
    index = call["idx"].astype(np.int64)
    return np.asarray(index.reshape(len(index), -1))


@oracle("GatherPointsMmcv", "GroupPointsMmcv")
def _pick(call: Call) -> Answer:
    points, index = call["points"], _of_picks(call)
    found = np.stack([points[b][:, index[b]] for b in range(len(points))]) if len(points) else points
    return {"out": Expected(found.reshape(call.shapes["out"]))}


def _added(before: Array, positions: Array, parts: Array) -> tuple[Expected, int]:
    """`before` [n, ...] with parts [k, ...] added at their positions in the first dimension, in order, and the most
    terms of a sum."""
    values, sizes = before.copy(), np.abs(before)
    np.add.at(values, positions, parts)
    np.add.at(sizes, positions, np.abs(parts))
    most = int(np.bincount(positions, minlength=1).max())
    return Expected(values, sizes), most + 1


def _joined(clouds: list[tuple[Expected, int]], shape: tuple[int, ...], terms: int = 1) -> Expected:
    """The sums of several clouds, of parts that are sums of `terms` themselves."""
    values = np.array([found.values for found, _ in clouds]).reshape(shape)
    sizes = np.array([found.scale for found, _ in clouds]).reshape(shape)
    return Expected(values, sizes, max((most for _, most in clouds), default=1) * terms)


@oracle("GatherPointsBackwardMmcv", "GroupPointsBackwardMmcv")
def _pick_backward(call: Call) -> Answer:
    before, gradient, index = call.wide("grad_points"), call.wide("grad_out"), _of_picks(call)
    parts = gradient.reshape(*gradient.shape[:2], -1)
    clouds = [_added(before[b].T, index[b], parts[b].T) for b in range(len(before))]
    clouds = [(Expected(found.values.T, _scale(found).T), most) for found, most in clouds]
    return {"grad_points": _joined(clouds, before.shape)}


def _scale(found: Expected) -> Array:
    assert found.scale is not None
    return found.scale


# ---- clouds that are joined -----------------------------------------------------------------------------------------


def _centres(call: Call) -> tuple[Array, Array]:
    """Of each centre: the first point of its cloud among all, and how many points that has."""
    counts = call["features_batch_cnt_tensor"].astype(np.int64)
    of_centres = call["idx_batch_cnt_tensor"].astype(np.int64)
    return np.repeat(np.cumsum(counts) - counts, of_centres), np.repeat(counts, of_centres)


@oracle("StackGroupPointsMmcv")
def _stack_pick(call: Call) -> Answer:
    features, index = call["features_tensor"], call["idx_tensor"].astype(np.int64)
    first, count = _centres(call)
    found = np.array(call["out_tensor"])
    centre, pick = np.nonzero(index < count[:, None])
    found[centre, :, pick] = features[first[centre] + index[centre, pick]]
    return {"out_tensor": Expected(found)}


@oracle("StackGroupPointsBackwardMmcv")
def _stack_pick_backward(call: Call) -> Answer:
    gradient, index = call.wide("grad_out_tensor"), call["idx_tensor"].astype(np.int64)
    before = call.wide("grad_features_tensor")
    positions = (_centres(call)[0][:, None] + index).reshape(-1)
    parts = gradient.swapaxes(1, 2).reshape(len(positions), before.shape[1])
    found = _added(before, positions, parts)
    return {"grad_features_tensor": _joined([found], before.shape)}


# ---- three points, each with its weight -----------------------------------------------------------------------------


@oracle("ThreeInterpolateMmcv")
def _interpolate(call: Call) -> Answer:
    points, weight, index = call.wide("points"), call.wide("weight"), call["idx"].astype(np.int64)
    values, sizes = (np.zeros(call.shapes["out"], points.dtype) for _ in range(2))
    for b in range(len(points)):
        terms = points[b][:, index[b]] * weight[b]  # [channels, targets, 3]
        values[b], sizes[b] = terms.sum(axis=-1), np.abs(terms).sum(axis=-1)
    # Each of three terms is a product, and goes through two additions at most: three roundings.
    return {"out": Expected(values, 1.5 * sizes, 3)}


@oracle("ThreeInterpolateBackwardMmcv")
def _interpolate_backward(call: Call) -> Answer:
    before, gradient, weight = call.wide("grad_points"), call.wide("grad_out"), call.wide("weight")
    index = call["idx"].astype(np.int64)
    clouds = []
    for b in range(len(before)):
        parts = (gradient[b][:, :, None] * weight[b]).reshape(before.shape[1], -1)  # [channels, 3 * targets]
        found, most = _added(before[b].T, index[b].reshape(-1), parts.T)
        clouds.append((Expected(found.values.T, _scale(found).T), most))
    return {"grad_points": _joined(clouds, before.shape)}


# ---- scores of weight matrices --------------------------------------------------------------------------------------


def _pairs(call: Call) -> tuple[Array, Array, Array, Array, Array]:
    """Cloud, centre and number of each neighbour that is in its cloud, and the points of centre and neighbour."""
    index = call["knn_idx"]
    cloud, centre, number = np.nonzero((index >= 0) & (index < int(call["N"])))
    return cloud, centre, number, index[cloud, centre, 0], index[cloud, centre, number]


@oracle("AssignScoreWithkMmcv")
def _assign(call: Call) -> Answer:
    points, centres, scores = (call.wide(name) for name in ("points", "centers", "scores"))
    cloud, centre, number, own, near = _pairs(call)
    values = call.wide("output").copy()
    sizes = np.abs(values)
    shares = scores[cloud, centre, number][:, :, None]  # [pairs, matrices, 1]
    of_point, of_centre = points[cloud, near], centres[cloud, own]  # [pairs, matrices, channels]
    values[cloud, :, centre, number] += ((of_point - of_centre) * shares).sum(axis=1)
    sizes[cloud, :, centre, number] += ((np.abs(of_point) + np.abs(of_centre)) * np.abs(shares)).sum(axis=1)
    return {"output": Expected(values, sizes, 2 * points.shape[2] + 1)}


@oracle("AssignScoreWithkBackwardMmcv")
def _assign_backward(call: Call) -> Answer:
    gradient, points, centres, scores = (call.wide(name) for name in ("grad_out", "points", "centers", "scores"))
    cloud, centre, number, own, near = _pairs(call)
    grad_out = gradient[cloud, :, centre, number]  # [pairs, channels]
    parts = scores[cloud, centre, number][:, :, None] * grad_out[:, None, :]  # [pairs, matrices, channels]

    def spread(name: str, positions: Array, signed: Array) -> Expected:
        before = call.wide(name)
        flat = before.reshape(-1, *before.shape[2:])
        return _joined([_added(flat, cloud * before.shape[1] + positions, signed)], before.shape)

    values = call.wide("grad_scores").copy()
    sizes = np.abs(values)
    of_point, of_centre = points[cloud, near], centres[cloud, own]
    values[cloud, centre, number] += ((of_point - of_centre) * grad_out[:, None, :]).sum(axis=2)
    sizes[cloud, centre, number] += ((np.abs(of_point) + np.abs(of_centre)) * np.abs(grad_out)[:, None, :]).sum(axis=2)
    return {
        "grad_points": spread("grad_points", near, parts),
        "grad_centers": spread("grad_centers", own, -parts),
        "grad_scores": Expected(values, sizes, 2 * points.shape[3] + 1),
    }
