"""The oracles of pooling of regions against compositions of plain torch operators, gradients by autograd in float64.
Needs the `torch` extra."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from references import Found, disagreements

from diopigen.conformance.oracles import Call
from diopigen.ir.model import Interface

torch = pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")


def _tensor(call: Call, name: str) -> Any:
    return torch.from_numpy(np.array(call[name], np.int64 if call[name].dtype.kind == "i" else np.float64))


def _single(call: Call, name: str) -> float:
    return float(np.float32(call[name]))


def _sample(maps: Any, y: Any, x: Any) -> Any:
    """Bilinear samples of maps [channels, height, width], by the four elements around each place."""
    height, width = maps.shape[1:]
    if height == 0 or width == 0:
        return torch.zeros(maps.shape[0], *y.shape, dtype=torch.float64)
    inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    y, x = y.clamp(0, height - 1), x.clamp(0, width - 1)
    top, left = y.detach().floor().long(), x.detach().floor().long()
    bottom, right = (top + 1).clamp(max=height - 1), (left + 1).clamp(max=width - 1)
    down, across = y - top, x - left
    above = maps[:, top, left] * (1 - across) + maps[:, top, right] * across
    below = maps[:, bottom, left] * (1 - across) + maps[:, bottom, right] * across
    return torch.where(inside, above * (1 - down) + below * down, torch.zeros_like(above))


def _mean(samples: Any) -> Any:
    """Over the last dimension, 0 where it is empty."""
    return samples.mean(-1) if samples.shape[-1] else samples.sum(-1)


def _positions(start: float, extent: float, bins: int, ratio: int) -> Any:
    count = ratio if ratio > 0 else max(math.ceil(extent / bins), 0)
    step = extent / bins
    inner = (torch.arange(count, dtype=torch.float64) + 0.5) * (step / max(count, 1))
    return start + torch.arange(bins, dtype=torch.float64)[:, None] * step + inner


def _grid(y: Any, x: Any) -> tuple[Any, Any]:
    """[rows, columns, samples] of both."""
    shape = (y.shape[0], x.shape[0], y.shape[1], x.shape[1])
    return y[:, None, :, None].expand(shape).flatten(2), x[None, :, None, :].expand(shape).flatten(2)


def _upright(call: Call, bins: tuple[str, str], aligned: bool) -> list[tuple[int, Any, Any]]:
    scale, ratio, found = _single(call, "spatial_scale"), int(call["sampling_ratio"]), []
    for image, x1, y1, x2, y2 in np.array(call["rois"], np.float64):
        sides = [(y2 - y1) * scale, (x2 - x1) * scale]
        sides = sides if aligned else [max(side, 1.0) for side in sides]
        start = [y1 * scale - 0.5 * aligned, x1 * scale - 0.5 * aligned]
        y, x = (_positions(start[i], sides[i], int(call[bins[i]]), ratio) for i in range(2))
        found.append((int(image), *_grid(y, x)))
    return found


def _rotated_grids(call: Call, bins: tuple[str, str], ratio: str, aligned: bool) -> list[tuple[int, Any, Any]]:
    scale, found = _single(call, "spatial_scale"), []
    for image, x0, y0, width, height, angle in np.array(call["rois"], np.float64):
        sides = [height * scale, width * scale]
        sides = sides if aligned else [max(side, 1.0) for side in sides]
        v, u = _grid(*(_positions(-sides[i] / 2, sides[i], int(call[bins[i]]), int(call[ratio])) for i in range(2)))
        turn = -angle if call["clockwise"] else angle
        # A rotation by the negative angle in coordinates whose y points down.
        rotated = complex(math.cos(turn), -math.sin(turn)) * torch.complex(u, v)
        found.append((int(image), rotated.imag + y0 * scale - 0.5 * aligned, rotated.real + x0 * scale - 0.5 * aligned))
    return found


def _pooled(maps: Any, regions: list[tuple[int, Any, Any]], like: Any) -> Any:
    means = [_mean(_sample(maps[image], y, x)) for image, y, x in regions]
    return torch.stack(means) if means else torch.zeros(like, dtype=torch.float64)


def _added(before: Any, forward: Callable[[Any], Any], gradient: Any, at: Any = None) -> Any:
    """`before` with the gradient of a function that is linear in the maps."""
    maps = torch.zeros_like(before) if at is None else at.clone()
    maps.requires_grad_()
    results = forward(maps)
    if not results.requires_grad:  # of no regions
        return before
    (found,) = torch.autograd.grad(results, maps, gradient, allow_unused=True)
    return before if found is None else before + found


ALIGNED = ("aligned_height", "aligned_width")
POOLED = ("pooled_height", "pooled_width")


def _roi_align(call: Call) -> Found:
    maps, regions = _tensor(call, "input"), _upright(call, ALIGNED, bool(call["aligned"]))
    shape = call.shapes["output"]
    if call["pool_mode"] == 1:
        return {"output": _pooled(maps, regions, shape)}
    found = [torch.zeros(shape, dtype=torch.float64) for _ in range(3)]
    for k, (image, y, x) in enumerate(regions):
        if y.shape[-1] == 0:
            found[0][k], found[1][k], found[2][k] = torch.finfo(torch.float32).min, -1, -1
            continue
        samples = _sample(maps[image], y, x)
        first = (samples == samples.amax(-1, keepdim=True)).long().argmax(-1)
        found[0][k] = samples.amax(-1)
        for position, at in ((1, y), (2, x)):
            found[position][k] = at.expand_as(samples).gather(-1, first[..., None])[..., 0]
    return dict(zip(("output", "argmax_y", "argmax_x"), found, strict=True))


def _roi_align_backward(call: Call) -> Found:
    before, gradient = _tensor(call, "grad_input"), _tensor(call, "grad_output")
    if call["pool_mode"] == 1:
        regions = _upright(call, ALIGNED, bool(call["aligned"]))
        return {"grad_input": _added(before, lambda maps: _pooled(maps, regions, gradient.shape), gradient)}
    y, x = _tensor(call, "argmax_y"), _tensor(call, "argmax_x")

    def forward(maps: Any) -> Any:
        images = [int(image) for image in call["rois"][:, 0]]
        rows = [
            torch.stack([_sample(maps[image, c : c + 1], y[k, c], x[k, c])[0] for c in range(maps.shape[1])])
            for k, image in enumerate(images)
        ]
        return torch.where(y != -1, torch.stack(rows), torch.zeros_like(y))

    return {"grad_input": _added(before, forward, gradient)}


def _rotated(call: Call) -> Found:
    regions = _rotated_grids(call, ALIGNED, "sampling_ratio", bool(call["aligned"]))
    return {"output": _pooled(_tensor(call, "input"), regions, call.shapes["output"])}


def _rotated_backward(call: Call) -> Found:
    regions, gradient = (
        _rotated_grids(call, ALIGNED, "sampling_ratio", bool(call["aligned"])),
        _tensor(call, "top_grad"),
    )
    before = _tensor(call, "bottom_grad")
    return {"bottom_grad": _added(before, lambda maps: _pooled(maps, regions, gradient.shape), gradient)}


def _oriented(call: Call, maps: Any, shape: Any) -> Any:
    """Each group of orientations rolled by the whole steps of the angle, and by one more."""
    count = int(call["num_orientations"])
    pooled = _pooled(maps, _rotated_grids(call, POOLED, "num_samples", False), shape)
    groups = pooled.unflatten(1, (pooled.shape[1] // count, count))
    found = []
    for k, roi in enumerate(np.array(call["rois"], np.float64)):
        steps = roi[5] * count / (2 * math.pi)
        whole = math.floor(steps)
        mixed = groups[k].roll(whole, 1) * (1 - steps + whole) + groups[k].roll(whole - 1, 1) * (steps - whole)
        found.append(mixed.reshape(pooled.shape[1:]))
    return torch.stack(found) if found else pooled


def _riroi(call: Call) -> Found:
    return {"output": _oriented(call, _tensor(call, "features"), call.shapes["output"])}


def _riroi_backward(call: Call) -> Found:
    before, gradient = _tensor(call, "bottom_grad"), _tensor(call, "top_grad")
    return {"bottom_grad": _added(before, lambda maps: _oriented(call, maps, gradient.shape), gradient)}


def _displaced(call: Call, maps: Any, offset: Any, shape: Any) -> Any:
    regions, gamma = _upright(call, POOLED, True), _single(call, "gamma")
    moved = []
    for k, ((image, y, x), roi) in enumerate(zip(regions, np.array(call["rois"], np.float64), strict=True)):
        if offset.numel():
            width, height = ((roi[i + 2] - roi[i]) * _single(call, "spatial_scale") for i in (1, 2))
            y = y + gamma * height * offset[k, 1][..., None]
            x = x + gamma * width * offset[k, 0][..., None]
        moved.append((image, y, x))
    return _pooled(maps, moved, shape)


def _deform(call: Call) -> Found:
    return {"output": _displaced(call, _tensor(call, "input"), _tensor(call, "offset"), call.shapes["output"])}


def _deform_backward(call: Call) -> Found:
    maps, offset, gradient = (_tensor(call, name) for name in ("input", "offset", "grad_output"))
    added = {
        "grad_input": _added(
            _tensor(call, "grad_input"), lambda at: _displaced(call, at, offset, gradient.shape), gradient, maps
        )
    }
    before = _tensor(call, "grad_offset")
    if offset.numel() == 0:
        return {**added, "grad_offset": before}
    return {
        **added,
        "grad_offset": _added(before, lambda at: _displaced(call, maps, at, gradient.shape), gradient, offset),
    }


def _along_sides(call: Call, maps: Any, more: int = 0) -> Any:
    """All samples, and some beyond the corner, [images, channels / 4, boxes, 4, samples]."""
    boxes, steps = _tensor(call, "boxes"), int(call["pool_size"])
    if not len(maps):
        return torch.zeros(0, maps.shape[1] // 4, boxes.shape[1], 4, steps + more + 1, dtype=torch.float64)
    parts = torch.arange(steps + more + 1, dtype=torch.float64) / steps
    x1, y1, x2, y2 = (boxes[..., i, None] for i in range(4))
    flat = torch.zeros_like(parts)
    ways = (
        (y1 + flat, x1 + (x2 - x1) * parts),
        (y1 + (y2 - y1) * parts, x1 + flat),
        (y2 + flat, x2 - (x2 - x1) * parts),
        (y2 - (y2 - y1) * parts, x2 + flat),
    )
    quarters = maps.unflatten(1, (4, maps.shape[1] // 4))
    sides = [
        torch.stack([_sample(quarters[image, side], y[image], x[image]) for image in range(len(maps))])
        for side, (y, x) in enumerate(ways)
    ]
    return torch.stack(sides, dim=3)


def _border(call: Call) -> Found:
    samples = _along_sides(call, _tensor(call, "input"))
    largest = samples.amax(-1, keepdim=True)
    return {"output": largest[..., 0], "argmax_idx": (samples == largest).long().argmax(-1)}


def _border_backward(call: Call) -> Found:
    numbers, before = _tensor(call, "argmax_idx"), _tensor(call, "grad_input")

    def forward(maps: Any) -> Any:
        return _along_sides(call, maps, 10).gather(-1, numbers[..., None])[..., 0]

    return {"grad_input": _added(before, forward, _tensor(call, "grad_output"))}


def _box_sums(call: Call, maps: Any) -> Any:
    boxes, scale = _tensor(call, "best_bboxes"), _single(call, "spatial_scale")
    y, x, width, height = (boxes[..., i] * scale for i in range(4))
    cosine, sine = boxes[..., 4].cos(), boxes[..., 4].sin()
    signs = ((0, 0), (1, 1), (-1, 1), (-1, -1), (1, -1))[: int(call["points"])]
    total = maps
    for i, k in signs:
        at_x = x + i * width / 2 * cosine - k * height / 2 * sine
        at_y = y + i * width / 2 * sine + k * height / 2 * cosine
        samples = [_sample(maps[image], at_y[image], at_x[image]) for image in range(len(maps))]
        total = total + (torch.stack(samples) if samples else 0)
    return total


def _feature_align_backward(call: Call) -> Found:
    before = _tensor(call, "bottom_grad")
    return {"bottom_grad": _added(before, lambda maps: _box_sums(call, maps), _tensor(call, "top_grad"))}


def _roi_pool(call: Call) -> Found:
    """By the bins that each element belongs to."""
    maps, scale = _tensor(call, "input"), _single(call, "spatial_scale")
    found, positions = _tensor(call, "output"), _tensor(call, "argmax")
    height, width = maps.shape[2:]

    def members(start: float, extent: float, bins: int, size: int) -> Any:
        ends = start + extent * torch.arange(bins + 1, dtype=torch.float64) / bins
        element = torch.arange(size)
        return (element >= ends[:-1, None].floor()) & (element < ends[1:, None].ceil())

    for k, (image, x1, y1, x2, y2) in enumerate(np.array(call["rois"], np.float64)):
        extents = ((y2 + 1) * scale - y1 * scale, (x2 + 1) * scale - x1 * scale)
        if min(extents) <= 0 or maps.shape[1] == 0:
            continue
        rows = members(y1 * scale, extents[0], int(call["pooled_height"]), height)
        columns = members(x1 * scale, extents[1], int(call["pooled_width"]), width)
        inside = (rows[:, None, :, None] & columns[None, :, None, :]).flatten(2)
        values = torch.where(inside, maps[int(image)].flatten(1)[:, None, None], -math.inf)
        empty = ~inside.any(-1)
        best = (values == values.amax(-1, keepdim=True)).long().argmax(-1) if height * width else positions[k]
        found[k] = torch.where(empty, 0.0, values.amax(-1)) if height * width else 0.0
        positions[k] = torch.where(empty, -1, best)
    return {"output": found, "argmax": positions}


def _roi_pool_backward(call: Call) -> Found:
    before, gradient, positions = (_tensor(call, name) for name in ("grad_input", "grad_output", "argmax"))
    flat = before.flatten(2).clone()
    for k, image in enumerate(call["rois"][:, 0]):
        of_region = positions[k].flatten(1)
        counts = (of_region >= 0).double()
        flat[int(image)].scatter_add_(1, of_region.clamp(min=0), gradient[k].flatten(1) * counts)
    return {"grad_input": flat.reshape(before.shape)}


def _integrals(call: Call, maps: Any, rois: Any, provided: Any = None) -> Any:
    """Means of a bilinear function, which over a rectangle between elements is its value in the middle. With `given`
    the integrals less these means times the areas, over the areas as they are."""
    scale, padded = _single(call, "spatial_scale"), torch.nn.functional.pad(maps, (1, 1, 1, 1))
    found = []
    for k, roi in enumerate(rois):
        x1, y1, x2, y2 = (roi[i] * scale for i in range(1, 5))
        image, bins = int(roi[0]), []
        for row in range(int(call["pooled_height"])):
            for column in range(int(call["pooled_width"])):
                sides = []
                for low, high, at, count in (
                    (y1, y2, row, int(call["pooled_height"])),
                    (x1, x2, column, int(call["pooled_width"])),
                ):
                    begin, end = low + (high - low) * at / count, low + (high - low) * (at + 1) / count
                    inner = range(math.floor(begin.item()) + 1, math.ceil(end.item()))
                    sides.append(torch.stack([begin, *(torch.tensor(float(i)) for i in inner), end]).double())
                y, x = sides
                area = (y[-1] - y[0]) * (x[-1] - x[0])
                if (x2 - x1).item() <= 0 or (y2 - y1).item() <= 0:
                    bins.append(torch.zeros(maps.shape[1], dtype=torch.float64))
                    continue
                middle_y, middle_x = ((side[:-1] + side[1:]) / 2 for side in sides)
                cells = y.diff()[:, None] * x.diff()
                centres = [one + 1 for one in torch.meshgrid(middle_y, middle_x, indexing="ij")]
                near = (centres[0] > 0) & (centres[0] < padded.shape[2] - 1)
                near = near & (centres[1] > 0) & (centres[1] < padded.shape[3] - 1)
                total = (torch.where(near, _sample(padded[image], *centres), 0.0) * cells).sum((1, 2))
                if provided is not None:
                    total = total - provided[k, :, row, column] * area
                bins.append(total / area.detach())
        found.append(torch.stack(bins, dim=1).reshape(-1, int(call["pooled_height"]), int(call["pooled_width"])))
    return (
        torch.stack(found) if found else torch.zeros(call.shapes["grad_output" if provided is not None else "output"])
    )


def _prroi(call: Call) -> Found:
    return {"output": _integrals(call, _tensor(call, "input"), _tensor(call, "rois"))}


def _prroi_backward(call: Call) -> Found:
    before, gradient = _tensor(call, "grad_input"), _tensor(call, "grad_output")
    if not gradient.numel():
        return {"grad_input": before}
    return {"grad_input": _added(before, lambda maps: _integrals(call, maps, _tensor(call, "rois")), gradient)}


def _prroi_corners(call: Call) -> Found:
    before, gradient = _tensor(call, "grad_rois"), _tensor(call, "grad_output")
    if not gradient.numel():
        return {"grad_rois": before}
    before[:, 0] = 0
    maps, means = _tensor(call, "input"), _tensor(call, "output")
    found = _added(before, lambda rois: _integrals(call, maps, rois, means), gradient, _tensor(call, "rois"))
    return {"grad_rois": found}


TORCH: dict[str, Callable[[Call], Found]] = {
    "RoiAlignMmcv": _roi_align,
    "RoiAlignBackwardMmcv": _roi_align_backward,
    "RoiAlignRotatedMmcv": _rotated,
    "RoiAlignRotatedBackwardMmcv": _rotated_backward,
    "RiroiAlignRotatedMmcv": _riroi,
    "RiroiAlignRotatedBackwardMmcv": _riroi_backward,
    "DeformRoiPoolMmcv": _deform,
    "DeformRoiPoolBackwardMmcv": _deform_backward,
    "BorderAlignMmcv": _border,
    "BorderAlignBackwardMmcv": _border_backward,
    "RotatedFeatureAlignMmcv": lambda call: {"output": _box_sums(call, _tensor(call, "features"))},
    "RotatedFeatureAlignBackwardMmcv": _feature_align_backward,
    "RoiPoolMmcv": _roi_pool,
    "RoiPoolBackwardMmcv": _roi_pool_backward,
    "PrroiPoolMmcv": _prroi,
    "PrroiPoolbackwardMmcv": _prroi_backward,
    "PrroiPoolCoorBackwardMmcv": _prroi_corners,
}


LARGEST = 4000
"""Numbers of a case: what is larger shows nothing else."""


@pytest.mark.parametrize("operator", sorted(TORCH))
def test_the_oracle_agrees_with_torch(interface: Interface, operator: str) -> None:
    compared, wrong = disagreements(interface, operator, TORCH[operator], LARGEST)
    assert compared > 4
    assert not wrong, "\n".join(wrong[:8])
