"""Points in upright boxes: which boxes hold them, voxels of a box, and the points of each box."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle


def _local(boxes: Array, points: Array) -> Array:
    """Points in the frames of boxes, from the centre of the bottom: [boxes, points, 3]."""
    apart = points[None] - boxes[:, None, :3]
    cosine, sine = np.cos(boxes[:, 6, None]), np.sin(boxes[:, 6, None])
    along = apart[..., 0] * cosine + apart[..., 1] * sine
    across = apart[..., 1] * cosine - apart[..., 0] * sine
    return np.stack([along, across, apart[..., 2]], axis=-1)


def _inside(boxes: Array, points: Array) -> Array:
    """[boxes, points]; not on the sides, but at the bottom and on top."""
    local = _local(boxes, points)
    within = np.all(2 * np.abs(local[..., :2]) < boxes[:, None, 3:5], axis=-1)
    return np.asarray(within & (local[..., 2] >= 0) & (local[..., 2] <= boxes[:, None, 5]))


@oracle("PointsInBoxesPartMmcv")
def _points_in_boxes_part(call: Call) -> Answer:
    found = np.array(call["box_idx_of_points"])
    for b, (boxes, points) in enumerate(zip(call.wide("boxes"), call.wide("pts"), strict=True)):
        inside = _inside(boxes, points)
        first = np.argmax(inside, axis=0) if len(boxes) else found[b]
        found[b] = np.where(inside.any(axis=0), first, found[b])
    return {"box_idx_of_points": Expected(found)}


@oracle("PointsInBoxesAllMmcv")
def _points_in_boxes_all(call: Call) -> Answer:
    found = np.array(call["box_idx_of_points"])
    for b, (boxes, points) in enumerate(zip(call.wide("boxes"), call.wide("pts"), strict=True)):
        found[b][_inside(boxes, points).T] = 1
    return {"box_idx_of_points": Expected(found)}


# ---- voxels ---------------------------------------------------------------------------------------------------------


def _listed(lists: Array, boxes: Array, points: Array) -> Array:
    """`lists` [boxes, x, y, z, room] with the points of each voxel added behind their number."""
    found = np.array(lists)
    parts = np.array(found.shape[1:4])
    if not parts.prod():
        return found
    local, inside = _local(boxes, points), _inside(boxes, points)
    for k, point in zip(*np.nonzero(inside), strict=True):
        lengths = boxes[k, 3:6]
        position = local[k, point] + np.append(lengths[:2] / 2, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            voxel = np.nan_to_num(np.floor(position * parts / lengths))
        voxel = np.clip(voxel, 0, parts - 1).astype(int)
        of_voxel = found[k][tuple(voxel)]
        if of_voxel[0] < len(of_voxel) - 1:
            of_voxel[0] += 1
            of_voxel[of_voxel[0]] = point
    return found


@oracle("RoiawarePool3dMmcv")
def _roiaware_pool3d(call: Call) -> Answer:
    features = call.wide("pts_feature")
    lists = _listed(call["pts_idx_of_voxels"], call.wide("rois"), call.wide("pts"))
    pooled, largest = call.wide("pooled_features").copy(), np.array(call["argmax"])
    sizes = np.abs(pooled)
    for voxel in np.ndindex(*lists.shape[:4]):
        points = lists[voxel][1 : 1 + lists[voxel][0]]
        if call["pool_method"] == 0:
            largest[voxel] = points[np.argmax(features[points], axis=0)] if len(points) else -1
        if len(points):
            of_voxel = features[points]
            pooled[voxel] = of_voxel.max(axis=0) if call["pool_method"] == 0 else of_voxel.mean(axis=0)
            sizes[voxel] = np.abs(of_voxel).mean(axis=0)
    if call["pool_method"] == 0:
        sizes = np.abs(pooled)
    return {
        "argmax": Expected(largest),
        "pts_idx_of_voxels": Expected(lists),
        "pooled_features": Expected(pooled, sizes, lists.shape[4]),
    }


@oracle("RoiawarePool3dBackwardMmcv")
def _roiaware_pool3d_backward(call: Call) -> Answer:
    values, gradient = call.wide("grad_in").copy(), call.wide("grad_out")
    sizes, counts = np.abs(values), np.ones(values.shape)
    lists, largest = call["pts_idx_of_voxels"], call["argmax"]
    for voxel in np.ndindex(*gradient.shape[:4]):
        for channel in range(gradient.shape[4]):
            count = int(lists[voxel][0])
            points = lists[voxel][1 : 1 + count] if call["pool_method"] == 1 else largest[voxel][channel, None]
            part = gradient[voxel][channel] / (count if call["pool_method"] == 1 and count > 0 else 1)
            for point in points[points >= 0]:
                values[point, channel] += part
                sizes[point, channel] += abs(part)
                counts[point, channel] += 1
    return {"grad_in": Expected(values, sizes, int(counts.max(initial=1)))}


# ---- the points of each box -----------------------------------------------------------------------------------------


@oracle("RoipointPool3dMmcv")
def _roipoint_pool3d(call: Call) -> Answer:
    pooled, flags = np.array(call["pooled_features"]), np.array(call["pooled_empty_flag"])
    samples = pooled.shape[2]
    for b, (boxes, points) in enumerate(zip(call.wide("boxes3d"), call.wide("xyz"), strict=True)):
        joined = np.concatenate([call["xyz"][b], call["pts_feature"][b]], axis=1)
        for k, of_box in enumerate(_inside(boxes, points)):
            found = np.nonzero(of_box)[0]
            if len(found) and flags[b, k] == 0:
                pooled[b, k] = joined[np.resize(found[:samples], samples)]
            elif not len(found):
                flags[b, k] = 1
    return {"pooled_features": Expected(pooled), "pooled_empty_flag": Expected(flags)}
