"""Differences of networks for point clouds, as MMDetection3D configures them: sampling and grouping of points, pooling
by boxes, voxels without a limit. Only the calls of functions are noted, each forward and backward; coordinates are
whole centimetres where distances decide, so that none is on a border by rounding."""

from __future__ import annotations

from diopigen.conformance.cases.aten_calls import Seen
from tracing.noted import PAIRS, filled, note, zeros
from tracing.recorder import Recorder

ROOM = "integers(-500, 500)"


def _empty(*shape: int) -> Seen:
    return filled(shape, "normal")


def _groups(points: int, centres: int, channels: int, radius: float, count: int) -> None:
    """Set abstraction of PointNet++: centres far from each other, the points near them, their features."""
    cloud, middle = filled((1, points, 3), ROOM), filled((1, centres, 3), ROOM)
    far = filled((1, points), 1e10)
    note("FurthestPointSamplingMmcv", temp_tensor=far, points_xyz=cloud, B=1, N=points, num_points=centres)
    selected = filled((1, centres), f"integers(0, {points})", "int32")
    sizes = {"b": 1, "c": channels, "n": points, "npoints": centres}
    note("GatherPointsMmcv", points=_empty(1, channels, points), idx=selected, **sizes)
    grad = {"grad_points": filled((1, channels, points), "zeros"), "grad_out": _empty(1, channels, centres)}
    note("GatherPointsBackwardMmcv", idx=selected, **grad, **sizes)
    near = {"center_xyz": middle, "xyz": cloud, "B": 1, "N": points, "npoint": centres, "sample_num": count}
    note("BallQueryMmcv", min_radius=0.0, max_radius=radius, **near)
    sizes["nsample"] = count
    groups = filled((1, centres, count), f"integers(0, {points})", "int32")
    note("GroupPointsMmcv", points=_empty(1, channels, points), idx=groups, **sizes)
    grad["grad_out"] = _empty(1, channels, centres, count)
    note("GroupPointsBackwardMmcv", idx=groups, **grad, **sizes)


def _spread(known: int, unknown: int, channels: int) -> None:
    """Feature propagation of PointNet++: features of the three nearest points, weighted."""
    sizes = {"b": 1, "m": known, "n": unknown}
    positions = {"unknown": filled((1, unknown, 3), ROOM), "known": filled((1, known, 3), ROOM)}
    note("ThreeNnMmcv", **positions, **sizes)
    idx, weight = filled((1, unknown, 3), f"integers(0, {known})", "int32"), filled((1, unknown, 3), "uniform(0, 1)")
    shared = {"idx": idx, "weight": weight, "c": channels, **sizes}
    note("ThreeInterpolateMmcv", points=_empty(1, channels, known), **shared)
    sums = {"grad_points": filled((1, channels, known), "zeros"), "grad_out": _empty(1, channels, unknown)}
    note("ThreeInterpolateBackwardMmcv", **sums, **shared)


def _stacked() -> None:
    """PV-RCNN: 2 clouds joined, 2048 key points in each, which look for raw points and take the features of voxels."""
    centres, points = 2048, 16384
    counts = {
        "center_xyz_batch_cnt": filled((2,), (centres, centres), "int32"),
        "xyz_batch_cnt": filled((2,), (points, points), "int32"),
    }
    positions = {"center_xyz": filled((2 * centres, 3), ROOM), "xyz": filled((2 * points, 3), ROOM)}
    note("StackBallQueryMmcv", max_radius=40.0, sample_num=16, **positions, **counts)
    shared = {
        "features_batch_cnt_tensor": filled((2,), (8000, 8000), "int32"),
        "idx_tensor": filled((2 * centres, 16), "integers(0, 8000)", "int32"),
        "idx_batch_cnt_tensor": filled((2,), (centres, centres), "int32"),
        "b": 2,
        "c": 64,
        "m": 2 * centres,
        "nsample": 16,
    }
    note("StackGroupPointsMmcv", features_tensor=_empty(16000, 64), **shared)
    sums = {"grad_features_tensor": filled((16000, 64), "zeros"), "grad_out_tensor": _empty(2 * centres, 64, 16)}
    note("StackGroupPointsBackwardMmcv", n=16000, **sums, **shared)


def _assembled() -> None:
    """PAConv: kernels of 16 matrices, put together by scores for 32 neighbours."""
    sizes = {"B": 1, "N": 4096, "npoint": 1024, "M": 16, "K": 32, "out_dim": 32}
    cloud, middle = filled((1, 4096, 3), ROOM), filled((1, 1024, 3), ROOM)
    note("KnnMmcv", xyz_tensor=cloud, new_xyz_tensor=middle, b=1, n=4096, m=1024, nsample=32)
    points, scores = _empty(1, 4096, 16, 32), _empty(1, 1024, 32, 16)
    near = filled((1, 1024, 32), "integers(0, 4096)", "int64")
    shared = {"points": points, "centers": points, "scores": scores, "knn_idx": near, **sizes}
    output = filled((1, 32, 1024, 32), "zeros")
    note("AssignScoreWithkMmcv", output=output, **shared)
    sums = {"grad_points": zeros(points), "grad_centers": zeros(points), "grad_scores": zeros(scores)}
    note("AssignScoreWithkBackwardMmcv", grad_out=_empty(1, 32, 1024, 32), **sums, **shared)


def _parts() -> None:
    """Part-A2: points by the cells of a region, a sparse network over them, boxes that hold points."""
    regions, points = 8, 16384
    boxes, cloud = filled((regions, 7), "boxes(70, 80)"), filled((points, 3), "points(70, 80, 4)")
    reason = "128 regions in the model; cells have room for 128 points each, which fill the memory"
    cells = filled((regions, 14, 14, 14, 128), "zeros", "int32")
    for method, channels in ((0, 16), (1, 4)):
        grad, features = _empty(regions, 14, 14, 14, channels), _empty(points, channels)
        shared = {"rois": boxes, "pts": cloud, "pts_feature": features, "pool_method": method}
        note("RoiawarePool3dMmcv", why=reason, pts_idx_of_voxels=cells, **shared)
        largest = filled(grad.shape, f"integers(-1, {points})", "int32")
        taken = {"pts_idx_of_voxels": cells, "argmax": largest, "pool_method": method}
        note("RoiawarePool3dBackwardMmcv", why=reason, grad_in=zeros(features), grad_out=grad, **taken)
    positions, after = 4000, 2000
    pairs = {
        "indicePairs": filled((8, 2, positions), f"integers(0, {after})", "int32"),
        "indiceNum": filled((8,), (2000, 800, 900, 700, 1000, 600, 800, 500), "int32"),
    }
    x, out = _empty(positions, 128), _empty(after, 128)
    note("IndiceMaxpoolMmcv", features=x, numAct=after, **pairs)
    note("IndiceMaxpoolBackwardMmcv", features=x, outFeatures=out, outGrad=out, **pairs)
    held = {"boxes": filled((1, 30, 7), "boxes(70, 80)"), "pts": filled((1, points, 3), "points(70, 80, 4)")}
    note("PointsInBoxesPartMmcv", box_idx_of_points=filled((1, points), -1, "int32"), **held)
    note("PointsInBoxesAllMmcv", box_idx_of_points=filled((1, points, 30), "zeros", "int32"), **held)
    many, objects = filled((100, 7), "boxes(70, 80)"), filled((20, 7), "boxes(80, 70)")
    note("Iou3dBoxesOverlapBevMmcv", why=f"512 boxes in the model; {PAIRS}", boxes_a=many, boxes_b=objects)
    note("Iou3dNms3dMmcv", why=f"1024 boxes in the model; {PAIRS}", boxes=many, nms_overlap_thresh=0.7)
    note("Iou3dNms3dNormalMmcv", boxes=filled((1024, 7), "boxes(70, 80)"), nms_overlap_thresh=0.8)


def _unlimited() -> None:
    """MVX-Net: every point in its voxel, and the mean of the points of a voxel."""
    sizes = {
        "voxel_size": filled((3,), (0.05, 0.05, 0.1)),
        "coors_range": filled((6,), (0.0, -40.0, -3.0, 70.4, 40.0, 1.0)),
    }
    note("DynamicVoxelizeMmcv", points=filled((20000, 4), "points(70.4, 80, 4)"), **sizes)
    x, reduced = _empty(20000, 64), _empty(8000, 64)
    note("DynamicPointToVoxelMmcv", feats=x, coors=filled((20000, 3), "integers(-1, 24)", "int32"), reduce_type=1)
    note(
        "DynamicPointToVoxelBackwardMmcv",
        grad_reduced_feats=reduced,
        feats=x,
        reduced_feats=reduced,
        coors_idx=filled((20000,), "integers(-1, 8000)", "int32"),
        reduce_count=filled((8000,), "integers(1, 9)", "int32"),
        reduce_type=1,
    )


def point_heads(recorder: Recorder) -> None:
    """1 cloud where nothing else is said."""
    with recorder.during("votenet"):
        for points, centres, channels, radius, count in ((20000, 2048, 4, 20.0, 64), (2048, 1024, 128, 40.0, 32)):
            _groups(points, centres, channels, radius, count)
        _spread(256, 512, 256)
        _spread(512, 1024, 256)
    with recorder.during("ssd_3d"):
        far = filled((1, 4096), 1e10)
        distances = filled((1, 4096, 4096), "uniform(0, 100)")
        sizes = {"B": 1, "N": 4096, "num_points": 512}
        note("FurthestPointSamplingWithDistMmcv", temp_tensor=far, points_dist=distances, **sizes)
    with recorder.during("paconv"):
        _assembled()
    with recorder.during("pv_rcnn"):
        _stacked()
    with recorder.during("point_rcnn"):
        boxes, flags = filled((1, 128, 7), "boxes(70, 80)"), filled((1, 128), "zeros", "int32")
        cloud = filled((1, 16384, 3), "points(70, 80, 4)")
        pooled = filled((1, 128, 512, 133), "zeros")
        note(
            "RoipointPool3dMmcv",
            pooled_features=pooled,
            pooled_empty_flag=flags,
            xyz=cloud,
            boxes3d=boxes,
            pts_feature=_empty(1, 16384, 130),
        )
    with recorder.during("part_a2"):
        _parts()
    with recorder.during("mvxnet"):
        _unlimited()
