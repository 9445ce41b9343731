"""Pooling of regions by bilinear samples.

What a bin reads is written as the weight of every element of the map, [bins, height, width]: the sum of a map times the
weights is the result, the sum of gradients times the weights the gradient of the map.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle


def single(call: Call, name: str) -> float:
    """A number as C passes a float."""
    return float(np.float32(call[name]))


def _hats(positions: Array, size: int) -> Array:
    """Interpolation weights of `size` elements at positions, [..., size]: linear between neighbours, those at the ends
    beyond them, and 0 more than one element outside."""
    if size == 0:
        return np.zeros((*positions.shape, 0), positions.dtype)
    with np.errstate(invalid="ignore"):
        within = np.minimum(np.maximum(positions, 0), size - 1)[..., None]
        weights = np.maximum(1 - np.abs(np.arange(size) - within), 0)
        inside = (positions >= -1) & (positions <= size)
    return np.asarray(np.where(inside[..., None], weights, np.zeros_like(weights)))


def _sizes(positions: Array, size: int) -> Array:
    """Magnitude for errors of the weights: the weights, and their change with a rounded position. It may be off by some
    roundings of itself, a quarter of the eight that a term is granted (`compare.bounds`)."""
    weights = _hats(positions, size)
    if size == 0:
        return weights
    inside = np.where((positions >= -1) & (positions <= size), positions, np.zeros_like(positions))
    near = np.abs(np.arange(size) - np.minimum(np.maximum(inside, 0), size - 1)[..., None]) <= 1
    counts = np.asarray(weights.any(axis=-1))[..., None]
    return np.asarray(weights + np.where(counts, near * np.abs(inside)[..., None] / 4, 0))


def _slopes(positions: Array, size: int) -> Array:
    """Derivative of these weights by the position, to the right at kinks: not beyond the ends."""
    low = np.floor(positions)[..., None]
    number = np.arange(size)
    grows = (positions >= 0) & (positions < size - 1)
    return np.asarray(np.where(grows[..., None], 1 * (number == low + 1) - 1 * (number == low), 0))


@dataclass(frozen=True)
class _Region:
    """The samples of a region by bin, [bins, samples], and how many terms a bin adds."""

    image: int
    y: Array
    x: Array
    height: int
    width: int

    @property
    def count(self) -> int:
        return max(int(self.y.shape[1]), 1)

    @property
    def rows(self) -> Array:
        return _hats(self.y, self.height)

    @property
    def columns(self) -> Array:
        return _hats(self.x, self.width)

    @property
    def weights(self) -> Array:
        """Of the mean of each bin, [bins, height, width]."""
        return _mixed(self.rows, self.columns) / self.count

    @property
    def sizes(self) -> Array:
        """Of what each weight adds up."""
        return _mixed(_sizes(self.y, self.height), _sizes(self.x, self.width)) / self.count


def _mixed(rows: Array, columns: Array) -> Array:
    return np.asarray((rows[..., :, None] * columns[..., None, :]).sum(axis=1))


def _grid(start: Any, extent: Any, bins: int, ratio: int) -> Array:
    """The positions of samples, [bins, samples of a bin]."""
    count = ratio if ratio > 0 else max(math.ceil(extent / bins), 0)
    within = (np.arange(count, dtype=np.longdouble) + 0.5) / max(count, 1)
    return np.asarray(start + extent / bins * (np.arange(bins)[:, None] + within))


def _samples(y: Array, x: Array) -> tuple[Array, Array]:
    """Every row of a bin with every column, both [bins, samples]."""
    shape = (y.shape[0], x.shape[0], y.shape[1], x.shape[1])
    bins, samples = shape[0] * shape[1], shape[2] * shape[3]
    down = np.broadcast_to(y[:, None, :, None], shape).reshape(bins, samples)
    return down, np.broadcast_to(x[None, :, None, :], shape).reshape(bins, samples)


def _upright(call: Call, names: tuple[str, str], aligned: bool, size: tuple[int, int]) -> list[_Region]:
    scale, shift, ratio = single(call, "spatial_scale"), 0.5 if aligned else 0.0, int(call["sampling_ratio"])
    found = []
    for image, *corners in call.wide("rois"):
        x1, y1, x2, y2 = (np.longdouble(corner) * scale - shift for corner in corners)
        extents = (y2 - y1, x2 - x1) if aligned else (max(y2 - y1, 1), max(x2 - x1, 1))
        rows = _grid(y1, extents[0], int(call[names[0]]), ratio)
        y, x = _samples(rows, _grid(x1, extents[1], int(call[names[1]]), ratio))
        found.append(_Region(int(image), y, x, *size))
    return found


def _rotated_regions(
    call: Call, names: tuple[str, str], samples: str, aligned: bool | None, size: tuple[int, int]
) -> list[_Region]:
    scale, shift = single(call, "spatial_scale"), 0.5 if aligned else 0.0
    found = []
    for image, x0, y0, width, height, angle in call.wide("rois").astype(np.longdouble):
        sizes = [height * scale, width * scale]
        if not aligned:
            sizes = [max(one, 1) for one in sizes]
        v, u = _samples(
            *(_grid(-one / 2, one, int(call[name]), int(call[samples])) for one, name in zip(sizes, names, strict=True))
        )
        turn = -angle if call["clockwise"] else angle
        # Counter-clockwise where y points down: towards smaller y.
        y = y0 * scale - shift + v * np.cos(turn) - u * np.sin(turn)
        x = x0 * scale - shift + v * np.sin(turn) + u * np.cos(turn)
        found.append(_Region(int(image), y, x, *size))
    return found


def _means(call: Call, output: str, features: Array, regions: Sequence[_Region], mixes: Sequence[Array]) -> Expected:
    """`mixes` are by region which channels a result adds up with which weights, [channels, channels]."""
    values, sizes = (np.zeros(call.shapes[output], np.longdouble) for _ in range(2))
    terms = 1
    for k, region in enumerate(regions):
        weights = region.weights
        read = (weights * features[region.image][:, None]).sum(axis=(2, 3))  # [channels, bins]
        size = (region.sizes * np.abs(features[region.image][:, None])).sum(axis=(2, 3))
        values[k] = (mixes[k][:, :, None] * read).sum(axis=1).reshape(values.shape[1:])
        sizes[k] = (mixes[k][:, :, None] * size).sum(axis=1).reshape(values.shape[1:])
        terms = max(terms, 4 * region.count)
    return Expected(values, sizes, terms)


def _spread(before: Array, gradient: Array, regions: Sequence[_Region], mixes: Sequence[Array]) -> Expected:
    values, sizes = before.astype(np.longdouble), np.abs(before).astype(np.longdouble)
    terms = 1
    for k, region in enumerate(regions):
        received = gradient[k].reshape(gradient.shape[1], len(region.y))  # [channels, bins]
        for target, sign, weights in ((values, received, region.weights), (sizes, np.abs(received), region.sizes)):
            mixed = (mixes[k][:, :, None] * sign[:, None]).sum(axis=0)
            target[region.image] += (mixed[:, :, None, None] * weights).sum(axis=1)
        terms += 4 * region.count * len(region.y)
    return Expected(values, sizes, terms)


def _plain(regions: Sequence[_Region], channels: int) -> list[Array]:
    return [np.eye(channels)] * len(regions)


# ---- RoiAlign -------------------------------------------------------------------------------------------------------


@oracle("RoiAlignMmcv")
def _roi_align(call: Call) -> Answer:
    features = call.wide("input")
    names = ("aligned_height", "aligned_width")
    regions = _upright(call, names, bool(call["aligned"]), features.shape[2:])
    if call["pool_mode"] == 1:
        return {"output": _means(call, "output", features, regions, _plain(regions, features.shape[1]))}
    values, sizes, rows, columns = (np.zeros(call.shapes["output"], np.longdouble) for _ in range(4))
    for k, region in enumerate(regions):
        weights = region.rows[:, :, :, None] * region.columns[:, :, None, :]  # [bins, samples, height, width]
        read = (weights * features[region.image][:, None, None]).sum(axis=(3, 4))  # [channels, bins, samples]
        near = _sizes(region.y, region.height)[:, :, :, None] * _sizes(region.x, region.width)[:, :, None, :]
        size = (near * np.abs(features[region.image][:, None, None])).sum(axis=(3, 4))
        for channel, bin_number in np.ndindex(read.shape[:2]):
            at = (k, channel, *np.unravel_index(bin_number, values.shape[2:]))
            samples = read[channel, bin_number]
            best = int(np.argmax(samples)) if samples.size else -1
            values[at] = samples[best] if samples.size else float(np.finfo(np.float32).min)
            sizes[at] = size[channel, bin_number].max() if samples.size else 0
            rows[at] = region.y[bin_number, best] if samples.size else -1
            columns[at] = region.x[bin_number, best] if samples.size else -1
    reach = 1 + np.abs(call.wide("rois")).max(initial=0) * np.ones(values.shape)
    return {
        "output": Expected(values, sizes, 4),
        "argmax_y": Expected(rows, reach, 4),
        "argmax_x": Expected(columns, reach, 4),
    }


@oracle("RoiAlignBackwardMmcv")
def _roi_align_backward(call: Call) -> Answer:
    before, gradient = call.wide("grad_input"), call.wide("grad_output")
    if call["pool_mode"] == 1:
        names = ("aligned_height", "aligned_width")
        regions = _upright(call, names, bool(call["aligned"]), before.shape[2:])
        return {"grad_input": _spread(before, gradient, regions, _plain(regions, before.shape[1]))}
    values, sizes = before.astype(np.longdouble), np.abs(before).astype(np.longdouble)
    y, x = call.wide("argmax_y"), call.wide("argmax_x")
    for k, image in enumerate(call.wide("rois")[:, 0].astype(int)):
        weights = _hats(y[k], before.shape[2])[..., :, None] * _hats(x[k], before.shape[3])[..., None, :]
        weights = weights * (y[k] != -1)[..., None, None]  # [channels, rows, columns, height, width]
        values[image] += (weights * gradient[k][..., None, None]).sum(axis=(1, 2))
        sizes[image] += (weights * np.abs(gradient[k])[..., None, None]).sum(axis=(1, 2))
    return {"grad_input": Expected(values, sizes, 1 + len(y) * int(np.prod(y.shape[2:])))}


# ---- regions that are rotated ----------------------------------------------------------------------------------------


@oracle("RoiAlignRotatedMmcv")
def _roi_align_rotated(call: Call) -> Answer:
    features = call.wide("input")
    names = ("aligned_height", "aligned_width")
    regions = _rotated_regions(call, names, "sampling_ratio", bool(call["aligned"]), features.shape[2:])
    return {"output": _means(call, "output", features, regions, _plain(regions, features.shape[1]))}


@oracle("RoiAlignRotatedBackwardMmcv")
def _roi_align_rotated_backward(call: Call) -> Answer:
    before = call.wide("bottom_grad")
    names = ("aligned_height", "aligned_width")
    regions = _rotated_regions(call, names, "sampling_ratio", bool(call["aligned"]), before.shape[2:])
    found = _spread(before, call.wide("top_grad"), regions, _plain(regions, before.shape[1]))
    return {"bottom_grad": found}


def _orientations(call: Call, channels: int) -> list[Array]:
    """By region: from which channels each one is read, its own orientation rotated back and the next."""
    count, found = int(call["num_orientations"]), []
    for angle in call.wide("rois")[:, 5].astype(np.longdouble):
        steps = angle * count / (2 * np.arccos(np.longdouble(-1)))
        low = int(np.floor(steps))
        mix = np.zeros((channels, channels), np.longdouble)
        for channel in range(channels):
            group, orientation = channel - channel % count, channel % count
            mix[channel, group + (orientation - low) % count] += 1 - (steps - low)
            mix[channel, group + (orientation - low + 1) % count] += steps - low
        found.append(mix)
    return found


@oracle("RiroiAlignRotatedMmcv")
def _riroi_align(call: Call) -> Answer:
    features = call.wide("features")
    regions = _rotated_regions(call, ("pooled_height", "pooled_width"), "num_samples", None, features.shape[2:])
    return {"output": _means(call, "output", features, regions, _orientations(call, features.shape[1]))}


@oracle("RiroiAlignRotatedBackwardMmcv")
def _riroi_align_backward(call: Call) -> Answer:
    before = call.wide("bottom_grad")
    regions = _rotated_regions(call, ("pooled_height", "pooled_width"), "num_samples", None, before.shape[2:])
    found = _spread(before, call.wide("top_grad"), regions, _orientations(call, before.shape[1]))
    return {"bottom_grad": found}


# ---- bins that are displaced ----------------------------------------------------------------------------------------


def _displaced(call: Call, size: tuple[int, int]) -> tuple[list[_Region], list[tuple[float, float]]]:
    """The regions, and how far an offset of 1 moves a bin down and to the right."""
    regions = _upright(call, ("pooled_height", "pooled_width"), True, size)
    scale, gamma = single(call, "spatial_scale"), single(call, "gamma")
    rois, offset = call.wide("rois").astype(np.longdouble), call.wide("offset")
    factors = [(gamma * scale * (roi[4] - roi[2]), gamma * scale * (roi[3] - roi[1])) for roi in rois]
    if offset.size == 0:
        return regions, factors
    moved = []
    for region, factor, of_region in zip(regions, factors, offset, strict=True):
        right, down = of_region.reshape(2, -1, 1)
        moved.append(_Region(region.image, region.y + factor[0] * down, region.x + factor[1] * right, *size))
    return moved, factors


@oracle("DeformRoiPoolMmcv")
def _deform_roi_pool(call: Call) -> Answer:
    features = call.wide("input")
    regions, _ = _displaced(call, features.shape[2:])
    return {"output": _means(call, "output", features, regions, _plain(regions, features.shape[1]))}


@oracle("DeformRoiPoolBackwardMmcv")
def _deform_roi_pool_backward(call: Call) -> Answer:
    before, gradient, features = call.wide("grad_input"), call.wide("grad_output"), call.wide("input")
    regions, factors = _displaced(call, before.shape[2:])
    found = _spread(before, gradient, regions, _plain(regions, before.shape[1]))
    if call["offset"].size == 0:
        return {"grad_input": found, "grad_offset": Expected(call.wide("grad_offset"))}
    values = call.wide("grad_offset").astype(np.longdouble)
    sizes, free = np.abs(values), np.zeros(values.shape, np.bool_)
    terms = 1
    for k, region in enumerate(regions):
        received = gradient[k].reshape(gradient.shape[1], len(region.y))[:, :, None, None]  # [channels, bins, 1, 1]
        read = features[region.image][:, None]  # [channels, 1, height, width]
        ways = (
            (1, factors[k][0], _slopes(region.y, region.height), region.columns),
            (0, factors[k][1], region.rows, _slopes(region.x, region.width)),
        )
        inside = (region.y >= -1) & (region.y <= region.height) & (region.x >= -1) & (region.x <= region.width)
        middle = (region.y >= 0) & (region.y < region.height - 1) & (region.x >= 0) & (region.x < region.width - 1)
        for axis, factor, rows, columns in ways:
            # A slope counts where the sample is inside: the other dimension's weights say so, but not its own.
            weights = _mixed(np.where(inside[..., None], rows, 0), columns) * factor / region.count
            size = _mixed(np.abs(np.where(inside[..., None], rows, 0)), np.abs(columns)) * abs(factor) / region.count
            values[k, axis] += (received * weights * read).sum(axis=(0, 2, 3)).reshape(values.shape[2:])
            sizes[k, axis] += (np.abs(received * read) * size).sum(axis=(0, 2, 3)).reshape(values.shape[2:])
            free[k, axis] = np.any(inside & ~middle, axis=1).reshape(values.shape[2:])
        terms = max(terms, 1 + 4 * region.count * features.shape[1])
    return {"grad_input": found, "grad_offset": Expected(values, sizes, terms, free=free)}


# ---- the sides of boxes ---------------------------------------------------------------------------------------------


def _sides(call: Call, last: int) -> tuple[Array, Array]:
    """y and x of samples 0 to `last` along top, left, bottom and right, [images, boxes, 4, samples]."""
    boxes = call.wide("boxes").astype(np.longdouble)
    parts = np.arange(last + 1) / np.longdouble(call["pool_size"])
    x1, y1, x2, y2 = (boxes[..., i, None] for i in range(4))
    still = np.zeros_like(parts)
    y = np.stack([y1 + still, y1 + (y2 - y1) * parts, y2 + still, y2 - (y2 - y1) * parts], axis=2)
    x = np.stack([x1 + (x2 - x1) * parts, x1 + still, x2 - (x2 - x1) * parts, x2 + still], axis=2)
    return y, x


@oracle("BorderAlignMmcv")
def _border_align(call: Call) -> Answer:
    features = call.wide("input")
    y, x = _sides(call, int(call["pool_size"]))
    shape = call.shapes["output"]
    values, sizes = (np.zeros(shape, np.longdouble) for _ in range(2))
    numbers = np.zeros(shape, np.int64)
    for image, channel, box, side in np.ndindex(*shape):
        rows = _hats(y[image, box, side], features.shape[2])
        columns = _hats(x[image, box, side], features.shape[3])
        read = features[image, side * shape[1] + channel]
        samples = (rows[:, :, None] * columns[:, None, :] * read).sum(axis=(1, 2))
        best = int(np.argmax(samples))
        at = (image, channel, box, side)
        values[at], numbers[at] = samples[best], best
        near = (
            _sizes(y[image, box, side], read.shape[0])[:, :, None] * _sizes(x[image, box, side], read.shape[1])[:, None]
        )
        sizes[at] = (near * np.abs(read)).sum(axis=(1, 2)).max()
    return {"output": Expected(values, sizes, 4), "argmax_idx": Expected(numbers)}


@oracle("BorderAlignBackwardMmcv")
def _border_align_backward(call: Call) -> Answer:
    gradient, numbers = call.wide("grad_output"), call["argmax_idx"]
    values = call.wide("grad_input").astype(np.longdouble)
    sizes = np.abs(values)
    y, x = _sides(call, int(numbers.max(initial=0)))
    for image, channel, box, side in np.ndindex(*gradient.shape):
        at, best = (image, channel, box, side), int(numbers[image, channel, box, side])
        map_at = (image, side * gradient.shape[1] + channel)
        for target, part, weigh in ((values, gradient[at], _hats), (sizes, abs(gradient[at]), _sizes)):
            rows = weigh(y[image, box, side, best : best + 1], values.shape[2])[0]
            columns = weigh(x[image, box, side, best : best + 1], values.shape[3])[0]
            target[map_at] += rows[:, None] * columns * part
    return {"grad_input": Expected(values, sizes, 1 + gradient.shape[2])}


# ---- a box for each position ----------------------------------------------------------------------------------------


def _box_regions(call: Call) -> list[_Region]:
    """Of each image: the positions that each position reads, itself first, [positions, samples]."""
    boxes, scale = call.wide("best_bboxes").astype(np.longdouble), single(call, "spatial_scale")
    images, height, width = boxes.shape[:3]
    found = []
    for image in range(images):
        y0, x0, w, h, angle = (boxes[image, ..., i].reshape(-1, 1) * (scale if i < 4 else 1) for i in range(5))
        along, across = (np.array([[0, 1, -1, -1, 1]]), np.array([[0, 1, 1, -1, -1]]))
        along, across = along[:, : int(call["points"])] * w / 2, across[:, : int(call["points"])] * h / 2
        y = y0 + along * np.sin(angle) + across * np.cos(angle)
        x = x0 + along * np.cos(angle) - across * np.sin(angle)
        found.append(_Region(image, y, x, height, width))
    return found


def _box_weights(region: _Region) -> tuple[Array, Array]:
    """Of each position with itself, [positions, height, width], and the sizes of what they add up."""
    own = np.eye(region.height * region.width).reshape(len(region.y), region.height, region.width)
    return own + region.count * region.weights, own + region.count * region.sizes


@oracle("RotatedFeatureAlignMmcv")
def _rotated_feature_align(call: Call) -> Answer:
    features = call.wide("features")
    values, sizes = (np.zeros(features.shape, np.longdouble) for _ in range(2))
    for region in _box_regions(call):
        (weights, near), read = _box_weights(region), features[region.image][:, None]
        values[region.image] = (weights * read).sum(axis=(2, 3)).reshape(features.shape[1:])
        sizes[region.image] = (near * np.abs(read)).sum(axis=(2, 3)).reshape(features.shape[1:])
    return {"output": Expected(values, sizes, 1 + 4 * int(call["points"]))}


@oracle("RotatedFeatureAlignBackwardMmcv")
def _rotated_feature_align_backward(call: Call) -> Answer:
    values, gradient = call.wide("bottom_grad").astype(np.longdouble), call.wide("top_grad")
    sizes = np.abs(values)
    for region in _box_regions(call):
        weights, near = _box_weights(region)
        received = gradient[region.image].reshape(gradient.shape[1], len(region.y))[:, :, None, None]
        values[region.image] += (weights * received).sum(axis=1)
        sizes[region.image] += (near * np.abs(received)).sum(axis=1)
    return {"bottom_grad": Expected(values, sizes, 1 + 5 * int(np.prod(gradient.shape[2:])))}
