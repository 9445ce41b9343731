"""Axis-aligned boxes: suppression of overlapping ones, and averages of a feature map over them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, oracle
from diopigen.conformance.products import product


def _overlaps(one: Array, others: Array) -> Array:
    """Intersection over union of one box with others [n, 4]; NaN for two boxes without area."""
    sides = np.minimum(one[2:], others[:, 2:]) - np.maximum(one[:2], others[:, :2])
    common = np.maximum(sides, 0.0).prod(axis=1)
    joint = (one[2:] - one[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(axis=1) - common
    return np.asarray(np.where(joint == 0, np.nan, common / np.where(joint == 0, 1, joint)))


@oracle("Nms")
def _nms(call: Call) -> Answer:
    boxes, threshold = call.wide("boxes"), float(call["iou_threshold"])
    scores = call.wide("confidence")
    retained: list[int] = []
    # A score that is no number counts as the highest, as in PyTorch's descending sort.
    for row in np.lexsort((-scores, ~np.isnan(scores))):
        if not np.any(_overlaps(boxes[row], boxes[retained]) > threshold):
            retained.append(int(row))
    return {"out": Allocated(Expected(np.array(retained, dtype=np.int64)), "int64")}


def _samples(start: Any, extent: Any, bins: int, size: int, ratio: int) -> tuple[Array, int]:
    """Weight of each of `size` pixels in the sum of samples of each bin, [bins, size], and samples per bin."""
    count = ratio if ratio > 0 else math.ceil(extent / bins)
    weights = np.zeros((bins, size), np.longdouble)
    half = np.longdouble(0.5)
    for bin_number in range(bins):
        for sample in range(count):
            position = start + extent / bins * (bin_number + (sample + half) / count)
            if -1 <= position <= size:
                inside = min(max(position, 0.0), size - 1.0)
                weights[bin_number] += np.maximum(0.0, 1.0 - np.abs(np.arange(size) - inside))
    return weights, count


def _regions(call: Call, height: int, width: int) -> list[tuple[int, Array, Array, float, int]]:
    """Image, weights of rows and of columns, divisor and number of terms of each region."""
    found = []
    shift = 0.5 if call["aligned"] else 0.0
    for image, *corners in call.wide("rois"):
        x1, y1, x2, y2 = (np.longdouble(corner) * float(call["spatial_scale"]) - shift for corner in corners)
        sides = [x2 - x1, y2 - y1] if call["aligned"] else [np.maximum(x2 - x1, 1), np.maximum(y2 - y1, 1)]
        ratio = int(call["sampling_ratio"])
        columns, across = _samples(x1, sides[0], int(call["pooled_width"]), width, ratio)
        rows, down = _samples(y1, sides[1], int(call["pooled_height"]), height, ratio)
        found.append((int(image), rows, columns, float(max(across * down, 1)), 4 * max(across * down, 1)))
    return found


def _resampled(rows: Array, features: Array, columns: Array) -> Array:
    """rows @ features @ columns^T, where both matrices hold weights that are not negative."""
    return product(product(rows, features), columns.T)


@oracle("RoiAlign")
def _roi_align(call: Call) -> Answer:
    """Bilinear weights of rows and columns multiply, and so do the conditions that leave a sample out."""
    features = call.wide("input")
    values, sizes = (np.zeros(call.shapes["out"], np.longdouble) for _ in range(2))
    terms = 1
    for location, (image, rows, columns, count, added) in enumerate(_regions(call, *features.shape[2:])):
        values[location] = _resampled(rows, features[image], columns) / count
        sizes[location] = _resampled(rows, np.abs(features[image]), columns) / count
        terms = max(terms, added)
    return {"out": Expected(values, sizes, terms)}


@oracle("RoiAlignBackward")
def _roi_align_backward(call: Call) -> Answer:
    gradient = call.wide("grad")
    values, sizes = (np.zeros(call.shapes["out"], np.longdouble) for _ in range(2))
    terms = 1
    for location, (image, rows, columns, count, added) in enumerate(_regions(call, *values.shape[2:])):
        values[image] += _resampled(rows.T, gradient[location], columns.T) / count
        sizes[image] += _resampled(rows.T, np.abs(gradient[location]), columns.T) / count
        terms += added * rows.shape[0] * columns.shape[0]
    return {"out": Expected(values, sizes, terms)}
