"""The recipes of detection and serving have what breaks kernels first: boxes without area, boxes that only touch,
points that are the same, empty voxels, prompts of padding alone, stop words at the very end, the ends of top-k and
top-p."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from diopigen import api
from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.model import Operand
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface

Arguments = dict[str, Any]
Holds = Callable[[Arguments], bool]


@cache
def _interface() -> Interface:
    return api.load(api.workspace(), Sink(), check=False).interface


def _recipes(function: str) -> Iterator[Arguments]:
    """The arguments of each recipe; literal tensors, zeros and ones as arrays, all others as None."""
    found = next(one for one in _interface().functions if one.short_name == function)
    for case in cases_of(_interface(), found):
        if case.axis == "recipe":
            yield {
                name: _array(value) if isinstance(value, Operand) else value for name, value in case.arguments.items()
            }


def _array(operand: Operand) -> Any:
    values = operand.values
    if isinstance(values, tuple):
        return np.array(values)
    name = getattr(values, "distribution", "")
    return np.full(operand.shape, float(name == "ones")) if name in ("zeros", "ones") else None


def _sides(name: str, first: int, second: int) -> Holds:
    """Some row has a width or a height of 0."""
    return lambda a: a[name] is not None and a[name].size > 0 and bool((a[name][..., [first, second]] == 0).any())


def _corners(name: str, first: int) -> Holds:
    """Some row has equal corners in x or in y."""

    def holds(a: Arguments) -> bool:
        x = a[name]
        return x is not None and x.size > 0 and bool((x[..., first : first + 2] == x[..., first + 2 : first + 4]).any())

    return holds


def _touching(name: str, other: str, columns: tuple[int, int, int, int], centred: bool) -> Holds:
    """A row of one and a row of the other, unturned, have a side in common and nothing more."""

    def holds(a: Arguments) -> bool:
        if a[name] is None or a[other] is None or a[name].size == 0 or a[other].size == 0:
            return False
        one, two = (a[key].reshape(-1, a[key].shape[-1])[:, list(columns)] for key in (name, other))
        if centred:
            one, two = (np.hstack([x[:, :2] - x[:, 2:] / 2, x[:, :2] + x[:, 2:] / 2]) for x in (one, two))
        low = np.maximum(one[:, None, :2], two[None, :, :2])
        high = np.minimum(one[:, None, 2:], two[None, :, 2:])
        return bool((((high - low).min(-1) == 0) & ((high - low).max(-1) > 0)).any())

    return holds


def _same(name: str) -> Holds:
    """All rows are the same, and there are several."""
    return lambda a: a[name] is not None and a[name].shape[-2] > 1 and bool((a[name] == a[name][..., :1, :]).all())


def _one_point(a: Arguments) -> bool:
    """A set of points has one point, again and again."""
    sets = a["pointsets"]
    if sets is None or sets.size == 0:
        return False
    points = sets.reshape(-1, 9, 2)
    return bool((points == points[:, :1]).all((1, 2)).any())


def _has(name: str, *numbers: float) -> Holds:
    """The tensor has each of the numbers somewhere."""
    return lambda a: a[name] is not None and all(bool(np.isclose(a[name], number).any()) for number in numbers)


def _ends_with_word(a: Arguments) -> bool:
    """The last tokens are the last of several words."""
    ids, words = a["output_ids"], a["stop_words"]
    for row in range(a["batch_size"]):
        ends = [int(end) for end in words[row][1] if end > 0]
        word = words[row][0][ends[-2] : ends[-1]] if len(ends) > 1 else []
        latest = ids[max(a["step"] + 1 - len(word), 0) : a["step"] + 1, a["id_offset"] + row]
        if len(word) and list(latest) == list(word):
            return True
    return False


def _takes_all(a: Arguments) -> bool:
    """Of a sequence as many tokens may be taken as there are."""
    return a["runtime_top_k"] is not None and bool((a["runtime_top_k"] == a["vocab_size_padded"]).any())


WITHOUT_AREA: dict[str, Holds] = {
    "BboxOverlapsMmcv": _corners("bboxes1", 0),
    "BorderAlignMmcv": _corners("boxes", 0),
    "BoxIouRotatedMmcv": _sides("bboxes2", 2, 3),
    "DeformRoiPoolMmcv": _corners("rois", 1),
    "Iou3dBoxesOverlapBevMmcv": _sides("boxes_a", 3, 4),
    "Iou3dNms3dMmcv": _sides("boxes", 3, 4),
    "Iou3dNms3dNormalMmcv": _sides("boxes", 3, 4),
    "NmsMmcv": _corners("dets", 0),
    "NmsRotatedMmcv": _sides("dets", 2, 3),
    "PointsInBoxesAllMmcv": _sides("boxes", 3, 4),
    "PointsInBoxesPartMmcv": _sides("boxes", 3, 4),
    "PrroiPoolMmcv": _corners("rois", 1),
    "RiroiAlignRotatedMmcv": _sides("rois", 3, 4),
    "RoiAlignMmcv": _corners("rois", 1),
    "RoiAlignRotatedMmcv": _sides("rois", 3, 4),
    "RoiPoolMmcv": _corners("rois", 1),
    "RoiawarePool3dMmcv": _sides("rois", 4, 5),
    "RoipointPool3dMmcv": _sides("boxes3d", 3, 4),
    "RotatedFeatureAlignMmcv": _sides("best_bboxes", 2, 3),
    "ConvexIouMmcv": _one_point,
    "MinAreaPolygonsMmcv": _one_point,
}
TOUCHING: dict[str, Holds] = {
    "BboxOverlapsMmcv": _touching("bboxes1", "bboxes2", (0, 1, 2, 3), False),
    "BoxIouRotatedMmcv": _touching("bboxes1", "bboxes2", (0, 1, 2, 3), True),
    "Iou3dBoxesOverlapBevMmcv": _touching("boxes_a", "boxes_b", (0, 1, 3, 4), True),
    "Iou3dNms3dMmcv": _touching("boxes", "boxes", (0, 1, 3, 4), True),
    "Iou3dNms3dNormalMmcv": _touching("boxes", "boxes", (0, 1, 3, 4), True),
    "NmsMmcv": _touching("dets", "dets", (0, 1, 2, 3), False),
    "NmsRotatedMmcv": _touching("dets", "dets", (0, 1, 2, 3), True),
}
THE_SAME: dict[str, Holds] = {
    "BallQueryMmcv": _same("xyz"),
    "ChamferDistanceMmcv": _same("xyz1"),
    "FurthestPointSamplingMmcv": _same("points_xyz"),
    "KnnMmcv": _same("xyz_tensor"),
    "StackBallQueryMmcv": _same("xyz"),
    "ThreeNnMmcv": _same("known"),
}
EMPTY: dict[str, Holds] = {
    "DynamicPointToVoxelMmcv": lambda a: (
        a["coors"] is not None and a["coors"].size > 0 and (a["coors"] < 0).any(1).all()
    ),
    "DynamicVoxelizeMmcv": lambda a: a["points"] is not None and a["points"].size > 0 and _is_outside(a),
    "HardVoxelizeMmcv": lambda a: a["points"] is not None and a["points"].size > 0 and _is_outside(a),
    "IndiceConvMmcv": lambda a: a["indiceNum"] is not None and (a["indiceNum"] <= 0).all(),
    "IndiceMaxpoolMmcv": lambda a: a["indiceNum"] is not None and (a["indiceNum"] <= 0).all(),
}
SERVING: dict[str, tuple[Holds, ...]] = {
    "BatchApplyRepetitionPenaltyInp": (_has("input_lengths", 0),),
    "FusedDecoderAttentionInp": (_has("sequence_lengths", 0),),
    "GatherOutput": (_has("context_length", 0),),
    "UpdatePaddingCount": (_has("input_lengths", 0),),
    "StopWordsCriterion": (_ends_with_word,),
    "TopKSampling": (_has("runtime_top_k", 1), _takes_all, _has("runtime_top_p", 0, 1)),
    "TopPSampling": (_has("runtime_top_p", 0, 1),),
}


def _is_outside(a: Arguments) -> bool:
    positions, limits = a["points"][:, :3], a["coors_range"]
    return bool(((positions < limits[:3]) | (positions >= limits[3:])).any(1).all())


KINDS = [
    *((name, (holds,)) for table in (WITHOUT_AREA, TOUCHING, THE_SAME, EMPTY) for name, holds in table.items()),
    *SERVING.items(),
]


@pytest.mark.parametrize(("function", "kinds"), KINDS, ids=[f"{name}-{k}" for k, (name, _) in enumerate(KINDS)])
def test_some_recipe_is_degenerate(function: str, kinds: tuple[Holds, ...]) -> None:
    recipes = list(_recipes(function))
    for holds in kinds:
        assert any(holds(recipe) for recipe in recipes), f"{function} lacks a degenerate recipe"
