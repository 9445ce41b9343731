"""Points in the cells of a grid."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, Property, oracle


def _cells(call: Call) -> tuple[Array, Array]:
    """The cell of each point as (z, y, x), and whether it is in the range. Both steps are rounded to float32, of
    float64 points to float64, as the spec has it."""
    dtype = np.float64 if call.dtype("points") == "float64" else np.float32
    points = call["points"][:, :3].astype(dtype)
    size, bounds = call["voxel_size"].astype(np.float32), call["coors_range"].astype(np.float32)
    with np.errstate(all="ignore"):
        cell = np.floor((points - bounds[:3].astype(dtype)) / size.astype(dtype))
        length = (bounds[3:] - bounds[:3]) / size
        count = np.copysign(np.floor(np.abs(length) + np.float32(0.5)), length)  # halves go away from 0
        inside = np.all((cell >= 0) & (cell < count), axis=1)
    return np.where(inside[:, None], cell, -1)[:, ::-1].astype(np.int64), inside


@oracle("DynamicVoxelizeMmcv")
def _dynamic_voxelize(call: Call) -> Answer:
    cells, inside = _cells(call)
    free = np.zeros(cells.shape, bool)
    free[~inside, 1:] = True
    return {"coors": Expected(cells, free=free)}


@oracle("HardVoxelizeMmcv")
def _hard_voxelize(call: Call) -> Answer:
    cells, inside = _cells(call)
    voxels, coors, counts = (np.array(call[name]) for name in ("voxels", "coors", "num_points_per_voxel"))
    numbers: dict[tuple[int, ...], int] = {}
    points: list[list[int]] = []
    for point in np.flatnonzero(inside).tolist():
        cell = tuple(cells[point].tolist())
        if cell not in numbers and len(numbers) < int(call["max_voxels"]):
            numbers[cell] = len(points)
            points.append([])
        if cell in numbers and len(points[numbers[cell]]) < int(call["max_points"]):
            points[numbers[cell]].append(point)
    for cell, number in numbers.items():
        coors[number], counts[number] = cell, len(points[number])
        voxels[number, : len(points[number])] = call["points"][points[number]]
    if not call["deterministic"]:
        return _in_any_order(call, voxels, coors, counts)
    return {
        "voxels": Expected(voxels),
        "coors": Expected(coors),
        "num_points_per_voxel": Expected(counts),
        "voxel_num": Expected(np.array(len(numbers))),
    }


def _in_any_order(call: Call, voxels: Array, coors: Array, counts: Array) -> Answer:
    """Voxels and their points as sets, where neither bound is reached."""
    found = int((counts > 0).sum())

    def described(voxels: Array, coors: Array, counts: Array) -> dict[tuple[int, ...], list[tuple[float, ...]]]:
        return {
            tuple(coors[k].tolist()): sorted(map(tuple, voxels[k, : int(counts[k])].tolist())) for k in range(found)
        }

    def complaint(voxels_found: Array, *others: Array) -> str | None:
        expected = described(voxels, coors, counts)
        if described(voxels_found, others[0], others[1]) != expected:
            return f"the voxels are not those of the cells {sorted(expected)} with their points"
        return None

    return {
        "voxels": Property(complaint, ("coors", "num_points_per_voxel")),
        "voxel_num": Expected(np.array(found)),
    }


@oracle("DynamicPointToVoxelMmcv")
def _point_to_voxel(call: Call) -> Answer:
    feats, coors = call.wide("feats"), call["coors"].astype(np.int64)
    inside = ~np.any(coors < 0, axis=1)
    cells, numbers = np.unique(coors[inside], axis=0, return_inverse=True)
    numbers = numbers.reshape(-1)
    voxel_of = np.full(len(coors), -1)
    voxel_of[inside] = numbers
    counts = np.bincount(numbers, minlength=len(cells))
    shape = (len(cells), feats.shape[1])
    values, sizes = np.zeros(shape, feats.dtype), np.zeros(shape, feats.dtype)
    how = int(call["reduce_type"])
    if how == 2:
        values -= np.inf
        np.maximum.at(values, numbers, feats[inside])
        sizes = np.zeros_like(values)
    else:
        np.add.at(values, numbers, feats[inside])
        np.add.at(sizes, numbers, np.abs(feats[inside]))
        if how == 1:
            values, sizes = values / counts[:, None], sizes / counts[:, None]
    most = int(counts.max(initial=1))
    index = call.dtype("coors")
    return {
        "outlist": [
            Allocated(Expected(values, sizes, most), call.dtype("feats")),
            Allocated(Expected(cells), index),
            Allocated(Expected(voxel_of), "int32"),
            Allocated(Expected(counts), "int32"),
        ]
    }


@oracle("DynamicPointToVoxelBackwardMmcv")
def _point_to_voxel_backward(call: Call) -> Answer:
    gradient, voxel = call.wide("grad_reduced_feats"), call["coors_idx"].astype(np.int64)
    inside = voxel >= 0
    values = np.zeros(call.shapes["grad_feats"], gradient.dtype)
    how = int(call["reduce_type"])
    if how == 2:
        feats, maxima = call["feats"], call["reduced_feats"]
        for number in range(len(gradient)):
            members = np.flatnonzero(voxel == number)
            if not len(members):
                continue
            is_maximum = feats[members] == maxima[number]
            channel = np.flatnonzero(is_maximum.any(axis=0))
            values[members[is_maximum.argmax(axis=0)[channel]], channel] = gradient[number, channel]
    else:
        values[inside] = gradient[voxel[inside]]
        if how == 1:
            values[inside] /= call["reduce_count"].astype(np.int64)[voxel[inside]][:, None]
    return {"grad_feats": Expected(values)}
