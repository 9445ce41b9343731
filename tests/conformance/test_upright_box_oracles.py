"""The oracles of points in upright boxes against plain loops over complex numbers, and the gradient of pooling against
central differences."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from calls import call_of
from references import Found, disagreements

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.dtypes import Array
from diopigen.conformance.model import SUCCESS
from diopigen.conformance.oracles import Call, Expected, answer_of
from diopigen.ir.model import Interface


def _local(box: Sequence[float], point: Sequence[float]) -> complex:
    """A point as seen from the centre of a box, turned back by its heading."""
    x, y, _, _, _, _, heading = (float(number) for number in box)
    return complex(float(point[0]) - x, float(point[1]) - y) * cmath.exp(complex(0, -heading))


def _holds(box: Sequence[float], point: Sequence[float]) -> bool:
    bottom, height, z = float(box[2]), float(box[5]), float(point[2])
    at = _local(box, point)
    return abs(at.real) < box[3] / 2 and abs(at.imag) < box[4] / 2 and bottom <= z <= bottom + height


def _part(call: Call) -> Found:
    found = np.array(call["box_idx_of_points"])
    for b, m in np.ndindex(*found.shape):
        hits = [t for t, box in enumerate(call["boxes"][b]) if _holds(box, call["pts"][b, m])]
        found[b, m] = hits[0] if hits else found[b, m]
    return {"box_idx_of_points": found}


def _all(call: Call) -> Found:
    found = np.array(call["box_idx_of_points"])
    for b, m, t in np.ndindex(*found.shape):
        if _holds(call["boxes"][b, t], call["pts"][b, m]):
            found[b, m, t] = 1
    return {"box_idx_of_points": found}


def _index(position: float, length: float, parts: int) -> int:
    return 0 if length == 0 else min(max(math.floor(position / length * parts), 0), parts - 1)


def _pool(call: Call) -> Found:
    lists, largest = np.array(call["pts_idx_of_voxels"]), np.array(call["argmax"])
    pooled = np.array(call["pooled_features"], np.float64)
    parts, room = lists.shape[1:4], lists.shape[4]
    members: dict[tuple[int, ...], list[int]] = {}
    for n, box in enumerate(call["rois"]):
        for p, point in enumerate(call["pts"]):
            if _holds(box, point):
                at, sizes = _local(box, point), [float(size) for size in box[3:6]]
                positions = (at.real + sizes[0] / 2, at.imag + sizes[1] / 2, float(point[2]) - float(box[2]))
                voxel = tuple(_index(*one) for one in zip(positions, sizes, parts, strict=True))
                members.setdefault((n, *voxel), []).append(p)
    for voxel in np.ndindex(*lists.shape[:4]):
        points = members.get(voxel, [])[: room - 1]
        lists[voxel][: len(points) + 1] = [len(points), *points]
        for channel in range(pooled.shape[4]):
            values = [float(call["pts_feature"][p, channel]) for p in points]
            if call["pool_method"] == 0:
                largest[voxel][channel] = points[values.index(max(values))] if points else -1
            if points:
                pooled[voxel][channel] = max(values) if call["pool_method"] == 0 else sum(values) / len(values)
    return {"argmax": largest, "pts_idx_of_voxels": lists, "pooled_features": pooled}


def _pick(call: Call) -> Found:
    pooled, flags = np.array(call["pooled_features"], np.float64), np.array(call["pooled_empty_flag"])
    for b, m in np.ndindex(*flags.shape):
        hits = [p for p, point in enumerate(call["xyz"][b]) if _holds(call["boxes3d"][b, m], point)]
        if not hits:
            flags[b, m] = 1
        elif flags[b, m] == 0:
            for s in range(pooled.shape[2]):
                p = hits[s] if s < len(hits) else hits[s % len(hits)]
                pooled[b, m, s] = [*call["xyz"][b, p], *call["pts_feature"][b, p]]
    return {"pooled_features": pooled, "pooled_empty_flag": flags}


LOOPS: dict[str, Callable[[Call], Found]] = {
    "PointsInBoxesPartMmcv": _part,
    "PointsInBoxesAllMmcv": _all,
    "RoiawarePool3dMmcv": _pool,
    "RoipointPool3dMmcv": _pick,
}
LARGEST = 3000


@pytest.mark.parametrize("operator", sorted(LOOPS))
def test_the_oracle_agrees_with_plain_loops(interface: Interface, operator: str) -> None:
    compared, wrong = disagreements(interface, operator, LOOPS[operator], LARGEST)
    assert compared > 4
    assert not wrong, "\n".join(wrong[:8])


def _results(call: Call, **changed: Any) -> dict[str, Array]:
    answer = answer_of(Call(call.function, {**call.values, **changed}, call.dtypes, call.shapes))
    return {name: one.values for name, one in answer.items() if isinstance(one, Expected)}


@pytest.mark.parametrize("method", [0, 1])
def test_the_gradient_of_pooling_is_that_of_central_differences(interface: Interface, method: int) -> None:
    forward, backward = (interface.function(f"diopiRoiawarePool3d{part}Mmcv") for part in ("", "Backward"))
    assert forward is not None and backward is not None
    random = np.random.default_rng(3)
    tested = 0
    for case in cases_of(interface, forward):
        if case.expect != SUCCESS or case.axis != "recipe":
            continue
        call = call_of(interface, case)
        found = _results(call, pool_method=method, argmax=np.full(call.shapes["argmax"], -1))
        grad_out = random.standard_normal(call.shapes["pooled_features"])
        features = random.permutation(call["pts_feature"].size).reshape(call.shapes["pts_feature"]).astype(float)
        found = _results(call, pool_method=method, argmax=found["argmax"], pts_feature=features)
        values = {
            "grad_in": np.zeros(features.shape), "pts_idx_of_voxels": found["pts_idx_of_voxels"],
            "argmax": found["argmax"], "grad_out": grad_out, "pool_method": method,
        }  # fmt: skip
        dtypes = {**call.dtypes, "grad_in": "float64", "grad_out": "float64"}
        shapes = {name: value.shape for name, value in values.items() if isinstance(value, np.ndarray)}
        gradient = answer_of(Call(backward, values, dtypes, shapes))["grad_in"]
        assert isinstance(gradient, Expected)
        direction = random.standard_normal(features.shape)
        ends = [
            (_results(call, pool_method=method, pts_feature=features + step * direction)["pooled_features"] * grad_out)
            for step in (2.0**-12, -(2.0**-12))
        ]
        change = float((ends[0] - ends[1]).sum() * 2.0**11)
        expected = float((gradient.values * direction).sum())
        assert abs(change - expected) <= 1e-6 * (1 + float(np.abs(gradient.values).sum())), case.id
        tested += 1
    assert tested > 3
