"""Heads of detectors that differ from each other in them alone: for rotated boxes, for regions, in point clouds. Each
table has a phase for each network. Sizes are those of MMRotate, MMDetection, MMDetection3D, MMSegmentation, MMFlow,
MMAction2 and PyTracking; only the calls of functions are noted, each forward and backward."""

from __future__ import annotations

from typing import Any

from diopigen.conformance.cases.aten_calls import Seen
from tracing.noted import FEW, PAIRS, filled, note, of_many, zeros
from tracing.recorder import Recorder


def _empty(*shape: int) -> Seen:
    return filled(shape, "normal")


def _both(name: str, x: Seen, names: tuple[str, str, str], grad: Seen, shared: dict[str, Any]) -> None:
    """A call forward, and one backward; `names` are the parameters of x, of its gradient, and of that which arrives."""
    note(name, **{names[0]: x}, **shared)
    note(f"{name.removesuffix('Mmcv')}BackwardMmcv", **{names[1]: zeros(x), names[2]: grad}, **shared)


def _rotated_regions(count: int, orientations: int) -> None:
    """Regions of 7x7 from the finest level of a pyramid over 1024x1024."""
    x, grad = _empty(1, 32, 32, 32), _empty(FEW, 32, 7, 7)
    shared: dict[str, Any] = {
        "why": of_many(count, 256, 256),
        "rois": filled((FEW, 6), "regions(1, 128, 128)"),
        "spatial_scale": 0.25,
        "clockwise": True,
    }
    if orientations:
        shared |= {"pooled_height": 7, "pooled_width": 7, "num_samples": 2, "num_orientations": orientations}
        _both("RiroiAlignRotatedMmcv", x, ("features", "bottom_grad", "top_grad"), grad, shared)
    else:
        shared |= {"aligned_height": 7, "aligned_width": 7, "sampling_ratio": 2}
        _both("RoiAlignRotatedMmcv", x, ("input", "bottom_grad", "top_grad"), grad, shared)


TURNS = (
    (1, 2, 3, 4, 5, 6, 7, 8, 9), (2, 3, 6, 1, 5, 9, 4, 7, 8), (3, 6, 9, 2, 5, 8, 1, 4, 7), (6, 9, 8, 3, 5, 7, 2, 1, 4),
    (9, 8, 7, 6, 5, 4, 3, 2, 1), (8, 7, 4, 9, 5, 1, 6, 3, 2), (7, 4, 1, 8, 5, 2, 9, 6, 3), (4, 1, 2, 7, 5, 3, 8, 9, 6),
)  # fmt: skip
"""Target of each of the 9 weights of a filter, for eight turns by 45 degrees."""


def rotated_heads(recorder: Recorder) -> None:
    """1 image of 1024x1024."""
    extent = "boxes(1024, 1024)"
    with recorder.during("oriented_rcnn"):
        _rotated_regions(512, 0)
        pairs = filled((256, 5), extent)
        note("BoxIouRotatedMmcv", bboxes1=pairs, bboxes2=filled((256, 5), "boxes(900, 1100)"), aligned=True)
    with recorder.during("redet"):
        _rotated_regions(256, 8)
    with recorder.during("s2anet"):
        positions = tuple(tuple(tuple(turn[3 * y + x] for turn in TURNS) for x in range(3)) for y in range(3))
        indices = filled((1, 3, 3, 8), (positions,), "int32")
        note("ActiveRotatedFilterMmcv", input=_empty(32, 256, 1, 3, 3), indices=indices)
        note("ActiveRotatedFilterBackwardMmcv", grad_out=_empty(256, 256, 3, 3), indices=indices)
        _deformed(256, 32, 32)
    with recorder.during("r3det"):
        shared = {"best_bboxes": filled((1, 8, 8, 5), extent), "spatial_scale": 1 / 128, "points": 1}
        x = _empty(1, 256, 8, 8)
        _both("RotatedFeatureAlignMmcv", x, ("features", "bottom_grad", "top_grad"), x, shared)
    with recorder.during("oriented_reppoints"):
        sets = filled((64, 18), "uniform(300, 700)")
        polygons = filled((64, 8), extent)
        note("MinAreaPolygonsMmcv", why=f"21824 sets in the model; {PAIRS}", pointsets=sets)
        note("ConvexGiouMmcv", why=f"500 pairs in the model; {PAIRS}", pointsets=sets, polygons=polygons)
        objects = filled((30, 8), extent)
        note("ConvexIouMmcv", why=f"21824 sets in the model; {PAIRS}", pointsets=sets, polygons=objects)
        note(
            "PointsInPolygonsMmcv",
            why=f"21824 points in the model; {PAIRS}",
            points=filled((500, 2), "uniform(0, 1024)"),
            polygons=objects,
        )
        corners, grad = _empty(500, 40, 2), _empty(500, 40)
        note("ChamferDistanceMmcv", xyz1=corners, xyz2=corners)
        near = filled((500, 40), "integers(0, 40)", "int32")
        sums = {"grad_xyz1": zeros(corners), "grad_xyz2": zeros(corners), "idx1": near, "idx2": near}
        note("ChamferDistanceBackwardMmcv", xyz1=corners, xyz2=corners, grad_dist1=grad, grad_dist2=grad, **sums)
    with recorder.during("quadrilaterals"):
        note(
            "BoxIouQuadriMmcv",
            why=f"196416 anchors in the model; {PAIRS}",
            bboxes1=filled((64, 8), extent),
            bboxes2=filled((30, 8), extent),
        )
    with recorder.during("rotated_fcos"):
        counts = tuple(k % 9 for k in range(16))
        valid = tuple(tuple((7 * vertex) % 24 < count for vertex in range(24)) for count in counts)
        note(
            "DiffIouRotatedSortVerticesMmcv",
            why="500 boxes in the model; their valid corners are written out here",
            vertices=filled((1, 16, 24, 2), "uniform(-20, 20)"),
            mask=filled((1, 16, 24), (valid,), "bool"),
            num_valid=filled((1, 16), (counts,), "int32"),
        )


def _fewer(width: int) -> str:
    return f"{width} channels in the model; the oracle multiplies in NumPy's own loops"


def _deformed(width: int, height: int, length: int, groups: int = 1) -> None:
    """A deformable convolution of 3x3 and its gradients, of a quarter of the channels."""
    some = width // 4
    x, weight = _empty(1, some, height, length), _empty(some, some, 3, 3)
    offset, none = _empty(1, 18 * groups, height, length), filled((0,), "zeros")
    sizes = {"kW": 3, "kH": 3, "padW": 1, "padH": 1, "deform_groups": groups, "im2col_step": 1, "why": _fewer(width)}
    note("DeformConvMmcv", columns=none, ones=none, input=x, weight=weight, offset=offset, **sizes)
    shared = {"input": x, "offset": offset, "gradOutput": x, "columns": none, **sizes}
    note("DeformConvBackwardInputMmcv", gradInput=zeros(x), weight=weight, **shared)
    note("DeformConvBackwardParametersMmcv", gradWeight=zeros(weight), ones=none, **shared)


def _modulated(width: int, height: int, length: int) -> None:
    """The same with a weight for each sample."""
    some = width // 4
    x, weight = _empty(1, some, height, length), _empty(some, some, 3, 3)
    offset = _empty(1, 18, height, length)
    mask, none = filled((1, 9, height, length), "uniform(0, 1)"), filled((0,), "zeros")
    sizes = {"kernel_h": 3, "kernel_w": 3, "pad_h": 1, "pad_w": 1, "why": _fewer(width)}
    shared = {"columns": none, "ones": none, "input": x, "weight": weight, "bias": none, "offset": offset, "mask": mask}
    note("ModulatedDeformConvMmcv", **shared, **sizes)
    sums = {"grad_input": zeros(x), "grad_weight": zeros(weight), "grad_bias": none}
    note("ModulatedDeformConvBackwardMmcv", grad_output=x, **sums, **shared, **sizes)


def region_heads(recorder: Recorder) -> None:
    """1 image of 800x1333 where nothing else is said."""
    with recorder.during("deformable"):
        _deformed(512, 25, 42)
        _modulated(512, 25, 42)
    with recorder.during("deformable_pooling"):
        few, why = FEW, of_many(300, 100, 168)
        x, offset, grad = _empty(1, 8, 25, 42), _empty(few, 2, 7, 7), _empty(few, 8, 7, 7)
        sizes = {"pooled_height": 7, "pooled_width": 7, "spatial_scale": 0.125, "sampling_ratio": 2}
        regions = filled((few, 5), "regions(1, 336, 200)")
        note("DeformRoiPoolMmcv", why=why, input=x, rois=regions, offset=filled((0,), "zeros"), **sizes)
        note("DeformRoiPoolMmcv", why=why, input=x, rois=regions, offset=offset, **sizes)
        sums = {"grad_input": zeros(x), "grad_offset": zeros(offset), "grad_output": grad}
        note("DeformRoiPoolBackwardMmcv", why=why, input=x, rois=regions, offset=offset, **sums, **sizes)
    with recorder.during("fast_rcnn"):
        x, grad = _empty(1, 32, 25, 42), _empty(few, 32, 7, 7)
        shared = {"why": why, "rois": regions, "pooled_height": 7, "pooled_width": 7, "spatial_scale": 0.125}
        note("RoiPoolMmcv", input=x, **shared)
        largest = filled(grad.shape, "integers(-1, 1050)", "int32")
        note("RoiPoolBackwardMmcv", grad_input=zeros(x), grad_output=grad, argmax=largest, **shared)
    with recorder.during("borderdet"):
        x, grad = _empty(1, 64, 7, 11), _empty(1, 16, 77, 4)
        alike = "256 channels of each border in the model; they are alike"
        boxes = filled((1, 77, 4), "boxes(11, 7)")
        note("BorderAlignMmcv", why=alike, input=x, boxes=boxes, pool_size=10)
        largest = filled(grad.shape, "integers(0, 11)", "int32")
        shared = {"grad_output": grad, "boxes": boxes, "argmax_idx": largest, "pool_size": 10}
        note("BorderAlignBackwardMmcv", why=alike, grad_input=zeros(x), **shared)
    with recorder.during("guided_anchoring"):
        positions = {
            "mask_h_idx": filled((100,), "ascending", "int64"),
            "mask_w_idx": filled((100,), "permutation", "int64"),
        }
        note("MaskedIm2colMmcv", im=_empty(1, 256, 100, 168), kernel_h=1, kernel_w=1, **positions)
        note("MaskedCol2imMmcv", col=_empty(1, 100), height=100, width=168, channels=1, **positions)
        _deformed(256, 25, 42, 4)
    with recorder.during("prdimp"):
        x, means = _empty(1, 32, 36, 36), _empty(few, 32, 5, 5)
        why = of_many(few, 36, 36)
        shared = {"why": why, "rois": filled((few, 5), "regions(1, 288, 288)"), "pooled_height": 5, "pooled_width": 5}
        shared["spatial_scale"] = 0.125
        note("PrroiPoolMmcv", input=x, **shared)
        note("PrroiPoolbackwardMmcv", grad_input=zeros(x), grad_output=means, **shared)
        note(
            "PrroiPoolCoorBackwardMmcv",
            grad_rois=filled((few, 5), "zeros"),
            output=means,
            grad_output=means,
            input=x,
            **shared,
        )
    _others(recorder)


def _others(recorder: Recorder) -> None:
    """Segmentation (PSANet), optical flow (FlowNetC) and action recognition (TIN)."""
    with recorder.during("psanet"):
        for kind in (0, 1):
            sizes = {"psa_type": kind, "num_": 1, "h_feature": 17, "w_feature": 17, "h_mask": 33, "w_mask": 33}
            sizes |= {"half_h_mask": 16, "half_w_mask": 16}
            why = "49x49 places with masks of 97x97 in the model; every pair of places has an element"
            note("PsamaskMmcv", why=why, input=_empty(1, 1089, 17, 17), **sizes)
            note("PsamaskBackwardMmcv", why=why, grad_output=_empty(1, 289, 17, 17), **sizes)
        x, channel, fewer = _empty(2, 32, 9409), _empty(32), "512 channels in the model, which are alike"
        spread = filled((32,), "uniform(0.5, 2)")
        note("SyncBnMeanMmcv", why=fewer, input=x)
        note("SyncBnVarMmcv", why=fewer, input=x, mean=channel)
        running = {"running_mean": channel, "running_var": spread, "weight": channel, "bias": channel}
        note("SyncBnOutputMmcv", why=fewer, input=x, mean=channel, var=spread, group_size=8, **running)
        note("SyncBnBackwardParamMmcv", why=fewer, grad_output=x, norm=x)
        sums = {"weight": channel, "grad_weight": channel, "grad_bias": channel, "std": spread}
        note("SyncBnBackwardDataMmcv", why=fewer, grad_output=x, norm=x, **sums)
    with recorder.during("flownetc"):
        x, why = (
            _empty(1, 16, 40, 56),
            "256 channels in the model, which are alike; the oracle takes one displacement after the other",
        )
        sizes = {"patchH": 21, "patchW": 21, "dilation_patchH": 2, "dilation_patchW": 2}
        note("CorrelationMmcv", why=why, input1=x, input2=x, **sizes)
        note("CorrelationBackwardMmcv", why=why, grad_output=_empty(1, 21, 21, 40, 56), input1=x, input2=x, **sizes)
    with recorder.during("tin"):
        x, shift = _empty(1, 8, 64, 3136), filled((1, 4), ((-2, 0, 1, 3),), "int32")
        note("TinShiftMmcv", input=x, shift=shift)
        note("TinShiftBackwardMmcv", grad_output=x, shift=shift)
