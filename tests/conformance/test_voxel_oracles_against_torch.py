"""Oracles of voxels, of sparse convolution and of rotated filters against compositions of plain torch operators,
gradients by autograd. Needs the `torch` extra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from calls import call_of
from torch_compositions import Arguments, Found, assert_agreement, gradients, torch

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.model import SUCCESS
from diopigen.conformance.oracles import Expected, answer_of
from diopigen.ir.model import Interface


def _cells(a: Arguments) -> Any:
    """(z, y, x) of each point, -1 throughout outside, in the type that the steps are rounded to."""
    dtype = torch.float64 if a.call.dtype("points") == "float64" else torch.float32
    bounds, size = a.coors_range.float(), a.voxel_size.float()
    cell = torch.floor(torch.div(a.points[:, :3].to(dtype) - bounds[:3], size))
    length = (bounds[3:] - bounds[:3]) / size
    count = torch.trunc(length + 0.5 * length.sign())
    inside = ((cell >= 0) & (cell < count)).all(1, keepdim=True)
    return torch.where(inside, cell, torch.full_like(cell, -1)).long().flip(1)


def _hard_voxelize(a: Arguments) -> Found:
    """Cells by torch.unique, in the order of the first point of each."""
    cells = _cells(a)
    points = torch.arange(len(cells))[cells[:, 0] >= 0]
    voxels, coors, counts = a.voxels.clone(), a.coors.clone(), a.num_points_per_voxel.clone()
    distinct, number = torch.unique(cells[points], dim=0, return_inverse=True)
    first = torch.full((len(distinct),), len(cells)).scatter_reduce(0, number, points, "amin")
    order = first.argsort()[: a.max_voxels]
    for voxel, group in enumerate(order.tolist()):
        members = points[number == group][: a.max_points]
        voxels[voxel, : len(members)] = a.points[members]
        coors[voxel], counts[voxel] = distinct[group], len(members)
    return {"voxels": voxels, "coors": coors, "num_points_per_voxel": counts, "voxel_num": torch.tensor(len(order))}


_REDUCE = ("sum", "mean", "amax")


def _point_to_voxel(a: Arguments) -> Found:
    inside = (a.coors >= 0).all(1)
    cells, number, counts = torch.unique(a.coors[inside], dim=0, return_inverse=True, return_counts=True)
    voxel = torch.full((len(inside),), -1).masked_scatter(inside, number)
    reduced = torch.zeros(len(cells), a.feats.shape[1], dtype=torch.float64)
    at = number[:, None].expand(-1, a.feats.shape[1])
    reduced = reduced.scatter_reduce(0, at, a.feats[inside], _REDUCE[a.reduce_type], include_self=False)
    results = (reduced, cells, voxel, counts)
    return {f"outlist[{k}]": one for k, one in enumerate(results)}


def _point_to_voxel_backward(a: Arguments) -> Found:
    """Sums and means by autograd; of a maximum by the lowest point that has it."""
    inside = a.coors_idx >= 0
    at = a.coors_idx[inside][:, None].expand(-1, a.feats.shape[1])
    reduced = torch.zeros_like(a.grad_reduced_feats)
    if a.reduce_type < 2:

        def forward(feats: Any) -> Any:
            sums = reduced.scatter_add(0, at, feats[inside])
            return sums / a.reduce_count[:, None] if a.reduce_type == 1 else sums

        return {"grad_feats": gradients(forward, [a.feats], a.grad_reduced_feats)[0]}
    found = torch.zeros_like(a.feats)
    points = torch.arange(len(a.feats))[inside]
    for channel in range(a.feats.shape[1]):
        voxel = a.coors_idx[points]
        has = a.feats[points, channel] == a.reduced_feats[voxel, channel]
        lowest = torch.full((len(reduced),), len(a.feats)).scatter_reduce(0, voxel[has], points[has], "amin")
        selected = lowest < len(a.feats)
        found[lowest[selected], channel] = a.grad_reduced_feats[selected, channel]
    return {"grad_feats": found}


def _matrices(a: Arguments, rows: int, results: int) -> Any:
    """Of each position in the window: how often an input row adds to an output row, [positions, outputs, inputs]."""
    found = torch.zeros(len(a.indiceNum), results, rows, dtype=torch.float64)
    for position, count in enumerate(a.indiceNum.tolist()):
        for k in range(max(count, 0)):
            first, second = a.indicePairs[position, :, k].tolist()
            row, result = (second, first) if a._inverse else (first, second)
            found[position, result, row] += 1
    return found


def _convolve(a: Arguments, features: Any, filters: Any, results: int) -> Any:
    by_position = filters.reshape(len(a.indiceNum), *filters.shape[-2:])
    return torch.einsum("koi,ic,kcd->od", _matrices(a, len(features), results), features, by_position)


def _convolve_backward(a: Arguments) -> Found:
    found = gradients(
        lambda features, filters: _convolve(a, features, filters, len(a.outGrad)), [a.features, a.filters], a.outGrad
    )
    return {f"outlist[{k}]": one for k, one in enumerate(found)}


def _pool(a: Arguments) -> Found:
    """The maximum over all pairs at once, with 0."""
    reached = (_matrices(a, len(a.features), a.numAct) > 0).any(0)
    values = torch.where(reached[:, :, None], a.features[None], torch.zeros_like(a.features[None]))
    return {"out": values.amax(1).clamp(min=0) if values.shape[1] else values.new_zeros(a.numAct, values.shape[2])}


def _pool_backward(a: Arguments) -> Found:
    matrices = _matrices(a, len(a.features), len(a.outGrad)).sum(0)
    equal = a.features[None] == a.outFeatures[:, None]
    return {"out": torch.einsum("oi,oic,oc->ic", matrices, equal.double(), a.outGrad)}


def _rotate(a: Arguments, filters: Any) -> Any:
    """By gathering with the inverse permutations."""
    where = a.indices.flatten(0, 2).T - 1
    rotated = filters.flatten(2)[:, :, torch.argsort(where, dim=1)].transpose(1, 2)  # [outputs, rotations, inputs, ...]
    shape = (len(filters) * len(where), filters.shape[1] * a.indices.shape[0], *a.indices.shape[1:3])
    return rotated.reshape(shape)


def _rotate_backward(a: Arguments) -> Found:
    (grad,) = gradients(lambda filters: _rotate(a, filters), [a.grad_in], a.grad_out)
    return {"grad_in": grad}


TORCH: dict[str, Callable[[Arguments], Found]] = {
    "HardVoxelizeMmcv": _hard_voxelize,
    "DynamicVoxelizeMmcv": lambda a: {"coors": _cells(a)},
    "DynamicPointToVoxelMmcv": _point_to_voxel,
    "DynamicPointToVoxelBackwardMmcv": _point_to_voxel_backward,
    "IndiceMaxpoolMmcv": _pool,
    "IndiceMaxpoolBackwardMmcv": _pool_backward,
    "IndiceConvMmcv": lambda a: {"out": _convolve(a, a.features, a.filters, a.numActOut)},
    "IndiceConvBackwardMmcv": _convolve_backward,
    "FusedIndiceConvBatchnormMmcv": lambda a: {"out": _convolve(a, a.features, a.filters, a.numActOut) + a.bias},
    "ActiveRotatedFilterMmcv": lambda a: {"output": _rotate(a, a.input)},
    "ActiveRotatedFilterBackwardMmcv": _rotate_backward,
}


@pytest.mark.parametrize("operator", sorted(TORCH))
def test_the_oracle_agrees_with_torch(interface: Interface, operator: str) -> None:
    assert_agreement(interface, operator, TORCH[operator])


def test_only_the_first_entry_of_a_cell_outside_is_fixed(interface: Interface) -> None:
    function = interface.function("diopiDynamicVoxelizeMmcv")
    assert function is not None
    calls = [call_of(interface, case) for case in cases_of(interface, function) if case.expect == SUCCESS]
    outside = 0
    for call in calls:
        cells, expected = _cells(Arguments(call)), answer_of(call)["coors"]
        assert isinstance(expected, Expected) and expected.free is not None
        own = (cells[:, :1] == -1).numpy()
        np.testing.assert_array_equal(expected.free, own & (np.arange(3) > 0))
        outside += int(own.sum())
    assert outside > 0


def test_pairs_of_a_dense_grid_are_a_convolution(interface: Interface) -> None:
    """The composition itself: all sites of a 4 x 5 map active, against conv2d."""
    torch.manual_seed(2)
    features, filters = torch.randn(20, 3, dtype=torch.float64), torch.randn(3, 3, 3, 2, dtype=torch.float64)
    pairs, counts = torch.full((9, 2, 20), -1), torch.zeros(9, dtype=torch.int64)
    for k in range(9):
        for y in range(4):
            for x in range(5):
                row, column = y + k // 3 - 1, x + k % 3 - 1
                if 0 <= row < 4 and 0 <= column < 5:
                    pairs[k, :, counts[k]] = torch.tensor([row * 5 + column, y * 5 + x])
                    counts[k] += 1

    class Pairs:
        indicePairs, indiceNum, _inverse = pairs, counts, 0

    found: Any = _convolve(Pairs, features, filters, 20)  # type: ignore[arg-type]
    image = features.T.reshape(1, 3, 4, 5)
    expected = torch.nn.functional.conv2d(image, filters.permute(3, 2, 0, 1), padding=1)
    torch.testing.assert_close(found.T.reshape(1, 2, 4, 5), expected)
