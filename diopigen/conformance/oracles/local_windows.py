"""Layers over windows of feature maps with weights of their own: CARAFE, correlation of two maps, attention masks of
PSANet, resampling by a filter. Maps are padded, and windows are slices of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, oracle
from diopigen.conformance.products import product

# ---- CARAFE ---------------------------------------------------------------------------------------------------------


def _repeated(maps: Array, factor: int) -> Array:
    """Each pixel as a block of factor by factor."""
    return np.asarray(maps.repeat(factor, axis=2).repeat(factor, axis=3))


def _summed(maps: Array, factor: int) -> Array:
    """The sums of blocks of factor by factor."""
    n, channels, height, width = maps.shape
    blocks = maps.reshape(n, channels, height // factor, factor, width // factor, factor)
    return np.asarray(blocks.sum(axis=(3, 5)))


def _weights(call: Call) -> Array:
    """The weights as [images, groups, rows of the window, columns of the window, height, width]."""
    size, groups = int(call["kernel_size"]), int(call["group_size"])
    masks = call.wide("masks")
    return np.asarray(masks.reshape(masks.shape[0], groups, size, size, *masks.shape[2:]))


def _shifts(size: int, height: int, width: int) -> Iterator[tuple[int, int, tuple[slice, slice], tuple[slice, slice]]]:
    """Of each element of a window: row and column, the pixels whose window has it on the map, and those it is on."""

    def side(by: int, length: int) -> tuple[slice, slice]:
        first, end = max(0, -by), max(0, min(length, length - by))
        return slice(first, max(first, end)), slice(first + by, max(first, end) + by)

    for i, k in np.ndindex(size, size):
        rows, columns = side(i - size // 2, height), side(k - size // 2, width)
        yield i, k, (rows[0], columns[0]), (rows[1], columns[1])


def _blocks(area: tuple[slice, slice], factor: int) -> tuple[slice, slice]:
    """The enlarged pixels of an area."""
    return (
        slice(area[0].start * factor, area[0].stop * factor),
        slice(area[1].start * factor, area[1].stop * factor),
    )


def _features(call: Call) -> Array:
    """The features, [images, channels, height, width]; those of the backward call have their channels last."""
    if "rfeatures" in call.values and "features" not in call.values:
        last = call.wide("rfeatures")
        n, channels, height, width = last.shape
        return np.asarray(last.reshape(n, height, width, channels).transpose(0, 3, 1, 2))
    return call.wide("features")


def _enlarged(features: Array, weights: Array, factor: int) -> Array:
    n, channels, height, width = features.shape
    found = np.zeros((n, channels, height * factor, width * factor), features.dtype)
    per_group = channels // weights.shape[1]
    for i, k, own, other in _shifts(weights.shape[2], height, width):
        to = (slice(None), slice(None), *_blocks(own, factor))
        by = weights[:, :, i, k, to[2], to[3]].repeat(per_group, axis=1)
        found[to] += _repeated(features[:, :, other[0], other[1]], factor) * by
    return found


@oracle("CarafeMmcv", "CarafeNaiveMmcv")
def _carafe(call: Call) -> Answer:
    features, weights, factor = call.wide("features"), _weights(call), int(call["scale_factor"])
    values = _enlarged(features, weights, factor)
    sizes = _enlarged(np.abs(features), np.abs(weights), factor)
    answer = {"output": Expected(values, sizes, int(call["kernel_size"]) ** 2)}
    if "rfeatures" in call.outputs:
        last = call["features"].transpose(0, 2, 3, 1)
        answer["rfeatures"] = Expected(np.ascontiguousarray(last).reshape(call.shapes["rfeatures"]))
    return answer


def _carafe_gradients(features: Array, weights: Array, grad_out: Array, factor: int) -> tuple[Array, Array]:
    of_features, of_weights = np.zeros_like(features), np.zeros_like(weights)
    n, channels, height, width = features.shape
    groups = weights.shape[1]
    for i, k, own, other in _shifts(weights.shape[2], height, width):
        rows, columns = _blocks(own, factor)
        grad = grad_out[:, :, rows, columns]
        by = weights[:, :, i, k, rows, columns].repeat(channels // groups, axis=1)
        of_features[:, :, other[0], other[1]] += _summed(grad * by, factor)
        products = grad * _repeated(features[:, :, other[0], other[1]], factor)
        shape = (n, groups, channels // groups, *products.shape[2:])
        of_weights[:, :, i, k, rows, columns] = products.reshape(shape).sum(axis=2)
    return of_features, of_weights


@oracle("CarafeBackwardMmcv", "CarafeNaiveBackwardMmcv")
def _carafe_backward(call: Call) -> Answer:
    features, weights, grad_out = _features(call), _weights(call), call.wide("top_grad")
    factor, size = int(call["scale_factor"]), int(call["kernel_size"])
    values = _carafe_gradients(features, weights, grad_out, factor)
    sizes = _carafe_gradients(np.abs(features), np.abs(weights), np.abs(grad_out), factor)
    terms = (size * factor) ** 2 + 1, features.shape[1] // weights.shape[1] + 1
    answer = {}
    for number, name in enumerate(("bottom_grad", "mask_grad")):
        shape = call.shapes[name]
        added = np.zeros(shape) if "rfeatures" in call.values else call.wide(name)
        answer[name] = Expected(
            values[number].reshape(shape) + added, sizes[number].reshape(shape) + np.abs(added), terms[number]
        )
    return answer


# ---- correlation ----------------------------------------------------------------------------------------------------


class _Correlation:
    """Pairs of windows as slices of maps that have zeros around, enough for every displacement."""

    def __init__(self, call: Call, results: str) -> None:
        def pair(name: str) -> tuple[int, int]:
            return int(call[f"{name}H"]), int(call[f"{name}W"])

        self.patch, self.window, self.pad, self.stride = pair("patch"), pair("k"), pair("pad"), pair("d")
        self.dilation, self.patch_dilation = pair("dilation"), pair("dilation_patch")
        self.outputs = call.shapes[results][3:]
        self.around = [
            self.pad[axis] + self.patch[axis] // 2 * self.patch_dilation[axis] for axis in (0, 1)
        ]  # zeros on each side
        self.shape = call.shapes["input1"]

    def padded(self, maps: Array) -> Array:
        return np.asarray(np.pad(maps, [(0, 0), (0, 0), *((by, by) for by in self.around)]))

    def cut(self, maps: Array) -> Array:
        height, width = self.shape[2:]
        return maps[:, :, self.around[0] : self.around[0] + height, self.around[1] : self.around[1] + width]

    def pairs(self) -> Iterator[tuple[tuple[int, int], tuple[slice, slice], tuple[slice, slice]]]:
        """Of each displacement and element of a window: the displacement's numbers, and the rows and columns of all
        windows on both padded maps."""

        def rows(axis: int, by: int) -> slice:
            start = self.around[axis] - self.pad[axis] + by
            return slice(start, start + (self.outputs[axis] - 1) * self.stride[axis] + 1, self.stride[axis])

        if min(self.outputs) == 0:
            return
        for patch in np.ndindex(*self.patch):
            by = [(patch[axis] - self.patch[axis] // 2) * self.patch_dilation[axis] for axis in (0, 1)]
            for element in np.ndindex(*self.window):
                own = [element[axis] * self.dilation[axis] for axis in (0, 1)]
                yield (
                    (patch[0], patch[1]),
                    (rows(0, own[0]), rows(1, own[1])),
                    (rows(0, own[0] + by[0]), rows(1, own[1] + by[1])),
                )

    @property
    def elements(self) -> int:
        return self.window[0] * self.window[1]


@oracle("CorrelationMmcv")
def _correlation(call: Call) -> Answer:
    by = _Correlation(call, "output")
    first, second = by.padded(call.wide("input1")), by.padded(call.wide("input2"))
    values, sizes = (np.zeros(call.shapes["output"], first.dtype) for _ in range(2))
    for patch, own, other in by.pairs():
        products = first[:, :, own[0], own[1]] * second[:, :, other[0], other[1]]
        values[:, patch[0], patch[1]] += products.sum(axis=1)
        sizes[:, patch[0], patch[1]] += np.abs(products).sum(axis=1)
    return {"output": Expected(values, sizes, by.elements * by.shape[1])}


@oracle("CorrelationBackwardMmcv")
def _correlation_backward(call: Call) -> Answer:
    by = _Correlation(call, "grad_output")
    maps = by.padded(call.wide("input1")), by.padded(call.wide("input2"))
    grad_out = call.wide("grad_output")
    values, sizes = [[np.zeros_like(one) for one in maps] for _ in range(2)]
    for patch, own, other in by.pairs():
        grad = grad_out[:, patch[0], patch[1]][:, None]
        areas = (slice(None), slice(None), *own), (slice(None), slice(None), *other)
        for number in (0, 1):
            part = grad * maps[1 - number][areas[1 - number]]
            values[number][areas[number]] += part
            sizes[number][areas[number]] += np.abs(part)
    terms = by.elements * by.patch[0] * by.patch[1]
    return {f"grad_input{i + 1}": Expected(by.cut(values[i]), by.cut(sizes[i]), terms) for i in (0, 1)}


# ---- attention masks ------------------------------------------------------------------------------------------------


def _positions(call: Call) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Indices of elements of the masks that are on the map, in the masks and in the attention of all positions."""
    height, width, rows, columns = (int(call[name]) for name in ("h_feature", "w_feature", "h_mask", "w_mask"))
    i, k, h, w = (one.reshape(-1) for one in np.indices((rows, columns, height, width)))
    row, column = h + i - int(call["half_h_mask"]), w + k - int(call["half_w_mask"])
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    i, k, h, w, row, column = (one[inside] for one in (i, k, h, w, row, column))
    in_masks = (i * columns + k, h, w)
    if int(call["psa_type"]) == 0:
        return in_masks, (row * width + column, h, w)
    return in_masks, (h * width + w, row, column)


@oracle("PsamaskMmcv")
def _psamask(call: Call) -> Answer:
    own, other = _positions(call)
    found = np.array(call["output"])
    found[:, other[0], other[1], other[2]] = call["input"][:, own[0], own[1], own[2]]
    return {"output": Expected(found)}


@oracle("PsamaskBackwardMmcv")
def _psamask_backward(call: Call) -> Answer:
    own, other = _positions(call)
    found = np.array(call["grad_input"])
    found[:, own[0], own[1], own[2]] = call["grad_output"][:, other[0], other[1], other[2]]
    return {"grad_input": Expected(found)}


# ---- resampling by a filter -----------------------------------------------------------------------------------------


def _resampling(size: int, filters: Array, up: int, down: int, pads: tuple[int, int]) -> Array:
    """The linear map of one dimension with each element of a filter, [filter, outputs, size]: 1 where it is on a
    pixel."""
    outputs = (size * up + sum(pads) - len(filters)) // down + 1
    found = np.zeros((len(filters), outputs, size))
    for i, output in np.ndindex(len(filters), outputs):
        position = output * down + i - pads[0]
        if 0 <= position < size * up and position % up == 0:
            found[i, output, position // up] = 1
    return found


@oracle("Upfirdn2dOpMmcv")
def _resample(call: Call) -> Answer:
    images, filters = call.wide("input"), call.wide("kernel")[::-1, ::-1]
    number = {name: int(call[name]) for name in call.values if name[:2] in ("up", "do", "pa")}
    vertical, horizontal = (
        _resampling(size, np.empty(length), number[f"up_{axis}"], number[f"down_{axis}"],
                    (number[f"pad_{axis}0"], number[f"pad_{axis}1"]))
        for axis, size, length in zip("yx", images.shape[1:3], filters.shape, strict=True)
    )  # fmt: skip
    count, _, _, inner = images.shape
    planes = images.transpose(0, 3, 1, 2)
    shape = (count, inner, vertical.shape[1], horizontal.shape[1])
    values, sizes = (np.zeros(shape, images.dtype) for _ in range(2))
    for i, k in np.ndindex(*filters.shape):
        moved = product(product(vertical[i], planes), horizontal[k].T)
        values += filters[i, k] * moved
        sizes += np.abs(filters[i, k] * moved)
    expected = Expected(values.transpose(0, 2, 3, 1), sizes.transpose(0, 2, 3, 1), filters.size)
    return {"out": Allocated(expected, call.dtype("input"))}
