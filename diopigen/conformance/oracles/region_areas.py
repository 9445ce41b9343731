"""Pooling of regions by whole elements and by integrals: what a bin covers of the map is what counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.oracles.regions import single

# ---- whole elements -------------------------------------------------------------------------------------------------


def _whole(start: Fraction, extent: Fraction, bins: int, size: int) -> list[slice]:
    """The elements of each bin, its ends rounded outwards in exact arithmetic."""
    ends = [start + extent * i / bins for i in range(bins + 1)]
    cut = [(math.floor(low), math.ceil(high)) for low, high in pairwise(ends)]
    return [slice(min(max(low, 0), size), min(max(high, 0), size)) for low, high in cut]


@oracle("RoiPoolMmcv")
def _roi_pool(call: Call) -> Answer:
    features, scale = call["input"], Fraction(single(call, "spatial_scale"))
    values, positions = np.array(call["output"]), np.array(call["argmax"])
    width = features.shape[3]
    for k, roi in enumerate(call["rois"]):
        image, x1, y1, x2, y2 = (Fraction(float(number)) for number in roi)
        x, y = x1 * scale, y1 * scale
        extents = ((y2 + 1) * scale - y, (x2 + 1) * scale - x)
        if min(extents) <= 0:
            continue
        rows = _whole(y, extents[0], int(call["pooled_height"]), features.shape[2])
        columns = _whole(x, extents[1], int(call["pooled_width"]), width)
        for channel, row, column in np.ndindex(*values.shape[1:]):
            part = features[int(image), channel, rows[row], columns[column]]
            values[k, channel, row, column], positions[k, channel, row, column] = 0, -1
            if part.size:
                down, across = np.unravel_index(int(np.argmax(part)), part.shape)
                values[k, channel, row, column] = part[down, across]
                found = (rows[row].start + down) * width + columns[column].start + across
                positions[k, channel, row, column] = found
    return {"output": Expected(values), "argmax": Expected(positions)}


@oracle("RoiPoolBackwardMmcv")
def _roi_pool_backward(call: Call) -> Answer:
    values, gradient, positions = call.wide("grad_input").copy(), call.wide("grad_output"), call["argmax"]
    images = call.wide("rois")[:, 0].astype(int)
    flat = values.reshape(*values.shape[:2], math.prod(values.shape[2:]))
    sizes, counts = np.abs(flat), np.ones(flat.shape)
    for k, channel, row, column in zip(*np.nonzero(positions >= 0), strict=True):
        at = (images[k], channel, positions[k, channel, row, column])
        flat[at] += gradient[k, channel, row, column]
        sizes[at] += abs(gradient[k, channel, row, column])
        counts[at] += 1
    return {"grad_input": Expected(values, sizes.reshape(values.shape), int(counts.max(initial=1)))}


# ---- integrals ------------------------------------------------------------------------------------------------------


def _integrals(ends: Array, size: int) -> Array:
    """The integral of each element's hat up to each end, [ends, size]."""
    distance = np.minimum(np.maximum(ends[:, None] - np.arange(size), -1), 1)
    return np.asarray(np.where(distance < 0, (distance + 1) ** 2, 2 - (1 - distance) ** 2) / 2)


def _peaks(ends: Array, size: int) -> Array:
    return np.asarray(np.maximum(1 - np.abs(ends[:, None] - np.arange(size)), 0))


@dataclass(frozen=True)
class _Area:
    """A region with area: the ends of its bins in both dimensions."""

    image: int
    y: Array
    x: Array

    def weights(self, size: tuple[int, int]) -> Array:
        """Of the mean of each bin, [rows, columns, height, width]."""
        rows, columns = (
            np.diff(_integrals(ends, count), axis=0) / np.diff(ends)[:, None]
            for ends, count in zip((self.y, self.x), size, strict=True)
        )
        return np.asarray(rows[:, None, :, None] * columns[None, :, None, :])


def _areas(call: Call) -> list[_Area | None]:
    scale, found = single(call, "spatial_scale"), list[_Area | None]()
    for image, x1, y1, x2, y2 in call.wide("rois").astype(np.longdouble):
        down = np.arange(int(call["pooled_height"]) + 1) / np.longdouble(call["pooled_height"])
        across = np.arange(int(call["pooled_width"]) + 1) / np.longdouble(call["pooled_width"])
        area = _Area(int(image), (y1 + (y2 - y1) * down) * scale, (x1 + (x2 - x1) * across) * scale)
        found.append(area if x2 > x1 and y2 > y1 else None)
    return found


@oracle("PrroiPoolMmcv")
def _prroi_pool(call: Call) -> Answer:
    features = call.wide("input")
    values, sizes = (np.zeros(call.shapes["output"], np.longdouble) for _ in range(2))
    terms = 1
    for k, area in enumerate(_areas(call)):
        if area is not None:
            weights, read = area.weights(features.shape[2:]), features[area.image][:, None, None]
            values[k] = (weights * read).sum(axis=(3, 4))
            sizes[k] = (weights * np.abs(read)).sum(axis=(3, 4))
            terms = max(terms, int((weights > 0).sum(axis=(2, 3)).max(initial=1)))
    return {"output": Expected(values, sizes, terms)}


@oracle("PrroiPoolbackwardMmcv")
def _prroi_pool_backward(call: Call) -> Answer:
    values, gradient = call.wide("grad_input").astype(np.longdouble), call.wide("grad_output")
    sizes, terms = np.abs(values), 1
    for k, area in enumerate(_areas(call)):
        if area is not None:
            weights, received = area.weights(values.shape[2:]), gradient[k][..., None, None]
            values[area.image] += (weights * received).sum(axis=(1, 2))
            sizes[area.image] += (weights * np.abs(received)).sum(axis=(1, 2))
            terms += weights.shape[0] * weights.shape[1]
    return {"grad_input": Expected(values, sizes, terms)}


@oracle("PrroiPoolCoorBackwardMmcv")
def _prroi_pool_corners(call: Call) -> Answer:
    """The derivative of a mean for an end of its bin: what the map is along that side, less the mean, over the extent.
    An end of a bin is between the two corners, in parts that add up to 1."""
    features, means, gradient = call.wide("input"), call.wide("output"), call.wide("grad_output")
    values = call.wide("grad_rois").astype(np.longdouble)
    sizes = np.abs(values)
    free = np.zeros(values.shape, np.bool_)
    scale = single(call, "spatial_scale")
    for k, area in enumerate(_areas(call)):
        if area is None or not np.any(gradient[k]):
            free[k, 0] = True
            continue
        values[k, 0] = sizes[k, 0] = 0
        read = features[area.image]
        size = read.shape[1:]
        integrals = [np.diff(_integrals(ends, n), axis=0) for ends, n in zip((area.y, area.x), size, strict=True)]
        means_along = [part / np.diff(ends)[:, None] for part, ends in zip(integrals, (area.y, area.x), strict=True)]
        peaks = [_peaks(ends, n) for ends, n in zip((area.y, area.x), size, strict=True)]
        for dim, ends in ((0, area.y), (1, area.x)):
            bins = len(ends) - 1
            # What is along each side of each bin, [channels, rows, columns], of rows or columns one more.
            rows, columns = (peaks[0], means_along[1]) if dim == 0 else (means_along[0], peaks[1])
            weights = rows[:, None, :, None] * columns[None, :, None, :]
            along = (weights * read[:, None, None]).sum(axis=(3, 4))
            along_size = (weights * np.abs(read)[:, None, None]).sum(axis=(3, 4))
            extents = np.diff(ends).reshape((-1, 1) if dim == 0 else (1, -1))
            parts = (np.arange(bins + 1) / np.longdouble(bins)).reshape((-1, 1) if dim == 0 else (1, -1))
            for number, sign in ((np.arange(bins), -1), (np.arange(bins) + 1, 1)):
                change = sign * (along.take(number, dim + 1) - means[k]) / extents * scale * gradient[k]
                size_of = (along_size.take(number, dim + 1) + np.abs(means[k])) / extents * scale * np.abs(gradient[k])
                part = parts.take(number, dim)
                for corner, share in ((2 - dim, 1 - part), (4 - dim, part)):
                    values[k, corner] += (change * share).sum()
                    sizes[k, corner] += (size_of * share).sum()
    return {"grad_rois": Expected(values, sizes, free=free)}
