"""The oracles of clouds of points against compositions of plain torch operators, gradients by autograd in float64, and
gradients against central differences of the forward oracles. Needs the `torch` extra."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from calls import call_of

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.compare.results import compare
from diopigen.conformance.dtypes import Array, encode
from diopigen.conformance.model import SUCCESS
from diopigen.conformance.oracles import Call, Expected, Property, answer_of
from diopigen.ir.model import Function, Interface

torch = pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")

Found = Mapping[str, Any]


class Arguments:
    """The tensors of a call as torch takes them: numbers in float64, indices in int64. Others as they are."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def __getattr__(self, name: str) -> Any:
        value = self.call.values[name]
        if not isinstance(value, np.ndarray):
            return value
        return torch.from_numpy(np.array(value, np.int64 if value.dtype.kind == "i" else np.float64))


# ---- features -------------------------------------------------------------------------------------------------------


def _pick(points: Any, idx: Any) -> Any:
    flat = idx.flatten(1)[:, None, :].expand(-1, points.shape[1], -1)
    return points.gather(2, flat).reshape(*points.shape[:2], *idx.shape[1:])


def _clouds(points: Any, picks: Any) -> tuple[Any, Any]:
    """The first point, and the number of points, of the cloud of each centre."""
    return (points.cumsum(0) - points).repeat_interleave(picks), points.repeat_interleave(picks)


def _stack_pick(features: Any, counts: Any, idx: Any, of_centres: Any, before: Any) -> Any:
    first, count = _clouds(counts, of_centres)
    inside = idx < count[:, None]
    rows = torch.where(inside, first[:, None] + idx, torch.zeros_like(idx))
    picked = (
        features[rows.flatten()].reshape(*idx.shape, features.shape[1]).transpose(1, 2) if len(features) else before
    )
    return torch.where(inside[:, None, :], picked, before)


def _interpolate(points: Any, idx: Any, weight: Any) -> Any:
    return (_pick(points, idx) * weight[:, None]).sum(-1)


def _assign(points: Any, centers: Any, scores: Any, idx: Any) -> Any:
    """[batch, centres, neighbours, channels] by advanced indices, zero where the neighbour is outside."""
    inside = (idx >= 0) & (idx < points.shape[1])
    cloud = torch.arange(len(points))[:, None, None].expand_as(idx)
    near = points[cloud, torch.where(inside, idx, torch.zeros_like(idx))]
    own = centers[cloud, idx[..., :1].expand_as(idx)]
    found = ((near - own) * scores[..., None]).sum(3)
    return torch.where(inside[..., None], found, torch.zeros_like(found)).permute(0, 3, 1, 2)


def _chamfer(xyz1: Any, xyz2: Any, idx1: Any, idx2: Any) -> tuple[Any, Any]:
    near1 = xyz2.gather(1, idx1[..., None].expand(-1, -1, 2))
    near2 = xyz1.gather(1, idx2[..., None].expand(-1, -1, 2))
    return ((xyz1 - near1) ** 2).sum(-1), ((xyz2 - near2) ** 2).sum(-1)


def _gradients(forward: Callable[..., Any], variables: list[Any], grads: Any) -> Any:
    """Autograd in float64, nothing from where the results do not depend on a variable."""
    leaves = [variable.clone().requires_grad_() for variable in variables]
    found = torch.autograd.grad(forward(*leaves), leaves, grads, allow_unused=True)
    return [torch.zeros_like(leaf) if one is None else one for leaf, one in zip(leaves, found, strict=True)]


def _pick_backward(a: Arguments) -> Found:
    (grad,) = _gradients(lambda points: _pick(points, a.idx), [a.grad_points], a.grad_out)
    return {"grad_points": a.grad_points + grad}


def _stack_backward(a: Arguments) -> Found:
    def forward(features: Any) -> Any:
        before = torch.zeros_like(a.grad_out_tensor)
        return _stack_pick(features, a.features_batch_cnt_tensor, a.idx_tensor, a.idx_batch_cnt_tensor, before)

    (grad,) = _gradients(forward, [a.grad_features_tensor], a.grad_out_tensor)
    return {"grad_features_tensor": a.grad_features_tensor + grad}


def _interpolate_backward(a: Arguments) -> Found:
    (grad,) = _gradients(lambda points: _interpolate(points, a.idx, a.weight), [a.grad_points], a.grad_out)
    return {"grad_points": a.grad_points + grad}


def _assign_backward(a: Arguments) -> Found:
    variables = [a.points, a.centers, a.scores]
    grads = _gradients(lambda p, c, s: _assign(p, c, s, a.knn_idx), variables, a.grad_out)
    names = ("grad_points", "grad_centers", "grad_scores")
    return {name: getattr(a, name) + grad for name, grad in zip(names, grads, strict=True)}


def _chamfer_backward(a: Arguments) -> Found:
    grads = _gradients(
        lambda first, second: _chamfer(first, second, a.idx1, a.idx2), [a.xyz1, a.xyz2], [a.grad_dist1, a.grad_dist2]
    )
    return {"grad_xyz1": a.grad_xyz1 + grads[0], "grad_xyz2": a.grad_xyz2 + grads[1]}


# ---- neighbours -----------------------------------------------------------------------------------------------------


def _squares(targets: Any, points: Any) -> Any:
    return ((targets[..., :, None, :] - points[..., None, :, :]) ** 2).sum(-1)


def _nearest(targets: Any, points: Any, size: int, none: float) -> tuple[Any, Any]:
    """Stable sorting, padded by missing points."""
    squares = torch.nn.functional.pad(_squares(targets, points), (0, size), value=none)
    distances, found = squares.sort(dim=-1, stable=True)
    distances, found = distances[..., :size].clamp(max=none), found[..., :size]
    return distances, torch.where(distances < none, found, torch.zeros_like(found))


def _three_nn(a: Arguments) -> Found:
    return dict(zip(("dist2", "idx"), _nearest(a.unknown, a.known, 3, 1e40), strict=True))


def _knn(a: Arguments) -> Found:
    found = _nearest(a.new_xyz_tensor, a.xyz_tensor, a.nsample, 1e10)
    return dict(zip(("dist2_tensor", "idx_tensor"), found, strict=True))


def _fill(inside: Any, before: Any, missing: Any) -> Any:
    """Rows of the first positions where `inside` holds: by the running number of hits."""
    size = before.shape[-1]
    rank = torch.where(inside, inside.cumsum(-1) - 1, torch.full_like(inside.long(), size))
    count = inside.sum(-1, keepdim=True)
    slots = torch.zeros(*before.shape[:-1], size + 1, dtype=torch.int64)
    slots.scatter_(-1, rank.clamp(max=size), torch.arange(inside.shape[-1]).expand_as(rank))
    number = torch.arange(size).expand_as(before)
    filled = slots.gather(-1, torch.where(number < count, number, torch.zeros_like(number)))
    return torch.where(count > 0, filled, missing)


def _ball_query(a: Arguments) -> Found:
    squares = _squares(a.center_xyz, a.xyz)
    least, end = (float(np.float32(radius)) ** 2 for radius in (a.min_radius, a.max_radius))
    inside = ((squares >= least) & (squares < end)) | (squares == 0)
    return {"idx": _fill(inside, a.idx, a.idx)}


def _stack_ball_query(a: Arguments) -> Found:
    rows = a.idx.clone()
    first, count = _clouds(a.xyz_batch_cnt, a.center_xyz_batch_cnt)
    for row in range(len(rows)):
        cloud = a.xyz[first[row] : first[row] + count[row]]
        inside = _squares(a.center_xyz[row : row + 1], cloud) < float(np.float32(a.max_radius)) ** 2
        missing = rows[row : row + 1].clone()
        missing[:, :1] = -1
        rows[row : row + 1] = _fill(inside, missing, missing)
    return {"idx": rows}


def _furthest(a: Arguments, row: Callable[[int, int], Any]) -> Found:
    near, found = a.temp_tensor.clone(), torch.zeros(a.call.shapes["idx_tensor"], dtype=torch.int64)
    for b in range(len(near)):
        for pick in range(1, found.shape[1]):
            near[b] = torch.fmin(near[b], row(b, int(found[b, pick - 1])))
            found[b, pick] = (near[b] == near[b].amax()).nonzero()[0, 0]
    return {"temp_tensor": near, "idx_tensor": found}


def _chamfer_search(a: Arguments) -> Found:
    first, second = _squares(a.xyz1, a.xyz2).min(2), _squares(a.xyz2, a.xyz1).min(2)
    near = [
        (_squares(x, y) == values[..., None]).long().argmax(2)
        for x, y, values in ((a.xyz1, a.xyz2, first.values), (a.xyz2, a.xyz1, second.values))
    ]
    return {"dist1": first.values, "dist2": second.values, "idx1": near[0], "idx2": near[1]}


TORCH: dict[str, Callable[[Arguments], Found]] = {
    "GatherPointsMmcv": lambda a: {"out": _pick(a.points, a.idx)},
    "GatherPointsBackwardMmcv": _pick_backward,
    "GroupPointsMmcv": lambda a: {"out": _pick(a.points, a.idx)},
    "GroupPointsBackwardMmcv": _pick_backward,
    "StackGroupPointsMmcv": lambda a: {
        "out_tensor": _stack_pick(
            a.features_tensor, a.features_batch_cnt_tensor, a.idx_tensor, a.idx_batch_cnt_tensor, a.out_tensor
        )
    },
    "StackGroupPointsBackwardMmcv": _stack_backward,
    "ThreeInterpolateMmcv": lambda a: {"out": _interpolate(a.points, a.idx, a.weight)},
    "ThreeInterpolateBackwardMmcv": _interpolate_backward,
    "AssignScoreWithkMmcv": lambda a: {"output": a.output + _assign(a.points, a.centers, a.scores, a.knn_idx)},
    "AssignScoreWithkBackwardMmcv": _assign_backward,
    "ThreeNnMmcv": _three_nn,
    "KnnMmcv": _knn,
    "BallQueryMmcv": _ball_query,
    "StackBallQueryMmcv": _stack_ball_query,
    "FurthestPointSamplingMmcv": lambda a: _furthest(
        a, lambda b, i: _squares(a.points_xyz[b, i : i + 1], a.points_xyz[b])[0]
    ),
    "FurthestPointSamplingWithDistMmcv": lambda a: _furthest(a, lambda b, i: a.points_dist[b, i]),
    "ChamferDistanceMmcv": _chamfer_search,
    "ChamferDistanceBackwardMmcv": _chamfer_backward,
}


def _function(interface: Interface, operator: str) -> Function:
    found = interface.function(f"diopi{operator}")
    assert found is not None
    return found


@pytest.mark.parametrize("operator", sorted(TORCH))
def test_the_oracle_agrees_with_torch(interface: Interface, operator: str) -> None:
    function = _function(interface, operator)
    wrong: list[str] = []
    compared = 0
    for case in cases_of(interface, function):
        if case.expect != SUCCESS or case.axis == "special":
            continue
        call = call_of(interface, case)
        found = TORCH[operator](Arguments(call))
        for name, expected in answer_of(call).items():
            compared += 1
            elements = np.asarray(encode(found[name].numpy(), call.dtype(name)))
            if isinstance(expected, Property):
                complaint = expected.check(elements)
                wrong += [f"{case.id}: {name} {complaint}"] if complaint else []
                continue
            assert isinstance(expected, Expected)
            fault = compare(elements, call.dtype(name), expected, function.tolerance, name)
            if fault is not None:
                wrong.append(f"{case.id}: {name} {fault.message}: oracle {fault.expected}, torch {fault.actual}")
    assert compared > 15
    assert not wrong, "\n".join(wrong[:8])


# ---- central differences --------------------------------------------------------------------------------------------

Differentiated = tuple[str, dict[str, str], tuple[str, ...], dict[str, str]]
BACKWARD: dict[str, Differentiated] = {
    "GatherPointsBackwardMmcv": ("GatherPointsMmcv", {"out": "grad_out"}, ("points",), {}),
    "GroupPointsBackwardMmcv": ("GroupPointsMmcv", {"out": "grad_out"}, ("points",), {}),
    "StackGroupPointsBackwardMmcv": (
        "StackGroupPointsMmcv", {"out_tensor": "grad_out_tensor"}, ("features_tensor",), {}),
    "ThreeInterpolateBackwardMmcv": ("ThreeInterpolateMmcv", {"out": "grad_out"}, ("points",), {}),
    "AssignScoreWithkBackwardMmcv": (
        "AssignScoreWithkMmcv", {"output": "grad_out"}, ("points", "centers", "scores"), {}),
    "ChamferDistanceBackwardMmcv": (
        "ChamferDistanceMmcv", {"dist1": "grad_dist1", "dist2": "grad_dist2"}, ("xyz1", "xyz2"),
        {"idx1": "idx1", "idx2": "idx2"}),
}  # fmt: skip
"""Of a gradient: its forward operator, the gradient of each output, the variables, and outputs that it takes."""


@pytest.mark.parametrize("operator", sorted(BACKWARD))
def test_the_gradient_is_that_of_central_differences(interface: Interface, operator: str) -> None:
    """The change of the sum of outputs times their gradients along one random direction of each variable. All forward
    operators are polynomials of degree at most two in one variable, as long as neighbours stay: nothing is cut off."""
    forward_name, grads, variables, taken = BACKWARD[operator]
    forward, backward = _function(interface, forward_name), _function(interface, operator)
    random = np.random.default_rng(5)
    tested = 0
    for case in cases_of(interface, backward):
        if case.expect != SUCCESS or case.dtype != "float64" or case.axis == "special":
            continue
        call = call_of(interface, case)
        values: dict[str, Any] = dict(call.values)
        shapes, dtypes = dict(call.shapes), dict(call.dtypes)
        for name in variables:
            into = f"grad_{name}"
            if taken or name not in values:  # where points are the same, the nearest of them changes with any step
                values[name] = random.standard_normal(shapes[into])
            values[into] = np.zeros(shapes[into])
            shapes[name], dtypes[name] = shapes[into], "float64"
        for output, grad in grads.items():
            values[output] = np.zeros(shapes[grad])
            shapes[output], dtypes[output] = shapes[grad], "float64"
        if values[variables[0]].size == 0:
            continue
        at = Call(forward, values, dtypes, shapes)
        if taken:  # the neighbours that the forward operator finds
            values.update({name: _values(at)[output] for name, output in taken.items()})
        answer = _values(Call(backward, values, dtypes, shapes))
        for name in variables:
            direction = random.standard_normal(shapes[name])
            change = _difference(at, name, direction, grads)
            expected = (answer[f"grad_{name}"] * direction).sum()
            size = 1 + float(np.abs(answer[f"grad_{name}"] * direction).sum())
            assert abs(change - expected) < 1e-6 * size, f"{case.id}: {name}: {change} and {expected}"
            tested += 1
    assert tested >= 2


def _values(call: Call) -> dict[str, Array]:
    answer = answer_of(call)
    return {name: one.values for name, one in answer.items() if isinstance(one, Expected)}


def _difference(call: Call, name: str, direction: Array, grads: Mapping[str, str]) -> float:
    step = 2.0**-20

    def total(sign: int) -> Any:
        moved = {**call.values, name: call.values[name] + sign * step * direction}
        found = _values(Call(call.function, moved, call.dtypes, call.shapes))
        return sum((found[output] * call.values[grad]).sum() for output, grad in grads.items())

    return float((total(1) - total(-1)) / (2 * step))
