"""Layers that read feature maps at displaced positions: deformable convolution, deformable attention. And the columns
of masked convolution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, oracle
from diopigen.conformance.products import product
from diopigen.contract.tolerance import epsilon

_COORDINATE = 1 / 8
"""The share of a coordinate's size in the size of a term: a library computes coordinates in the accumulate type, so
that they are off by half an epsilon of their size, and grants each term eight."""


@dataclass(frozen=True)
class _Samples:
    """Bilinear samples of maps [maps, height, width] at positions y and x of any shape, as weights [4, ...] on pixels
    [4, ...] that are numbered row by row. Weights are 0 for pixels outside, and for positions that are a pixel outside
    or more. `down` and `right` are the derivatives of the weights by y and x, towards higher positions."""

    pixels: Array
    weights: Array
    down: Array
    right: Array
    inexact: Array
    """The size of what rounded coordinates change, as a share of the pixels, [...]."""
    unclear: Array
    """Coordinates that rounding may move across an integer, at which derivatives change, [...]."""

    @staticmethod
    def at(y: Array, x: Array, height: int, width: int, size: Array, eps: float) -> _Samples:
        """`size` is that of the numbers that coordinates are computed from."""
        inside = (y > -1) & (x > -1) & (y < height) & (x < width)
        top, left = np.floor(y), np.floor(x)
        pixels, weights, downs, rights = [], [], [], []
        for row in (0, 1):
            for column in (0, 1):
                i, k = top + row, left + column
                has = inside & (i >= 0) & (i < height) & (k >= 0) & (k < width)
                vertical, horizontal = 1 - np.abs(y - i), 1 - np.abs(x - k)
                pixels.append(np.where(has, i * width + k, 0).astype(np.int64))
                weights.append(np.where(has, vertical * horizontal, 0))
                downs.append(np.where(has, (2 * row - 1) * horizontal, 0))
                rights.append(np.where(has, (2 * column - 1) * vertical, 0))
        off = np.minimum(np.abs(y - np.round(y)), 1), np.minimum(np.abs(x - np.round(x)), 1)
        unclear = ((off[0] > 0) & (off[0] <= size * eps)) | ((off[1] > 0) & (off[1] <= size * eps))
        return _Samples(
            np.array(pixels), np.array(weights), np.array(downs), np.array(rights), _COORDINATE * size * inside, unclear
        )

    def read(self, maps: Array, weights: Array | None = None) -> tuple[Array, Array]:
        """Samples of each map, [maps, ...], and the sizes of what they add up."""
        flat = maps.reshape(len(maps), -1)
        around = flat[:, self.pixels] if flat.shape[1] else np.zeros((len(maps), *self.pixels.shape), maps.dtype)
        used = self.weights if weights is None else weights
        values = (used * around).sum(axis=1)
        reached = np.abs(around) * (self.weights + np.abs(self.down) + np.abs(self.right) > 0)
        return values, np.abs(used * around).sum(axis=1) + self.inexact * reached.sum(axis=1)

    def spread(self, parts: Array, sizes: Array, pixels: int) -> tuple[Array, Array]:
        """The gradients of pixels, [maps, pixels], for those of samples [maps, ...], and their sizes."""
        values, scale = (np.zeros((len(parts), pixels), parts.dtype) for _ in range(2))
        for corner in range(4):
            at = self.pixels[corner].reshape(-1)
            for number in range(len(parts)):
                if not pixels:
                    continue
                weighted = (self.weights[corner] * parts[number]).reshape(-1)
                np.add.at(values[number], at, weighted)
                reach = self.weights[corner] + self.inexact
                np.add.at(scale[number], at, (reach * sizes[number]).reshape(-1))
        return values, scale


# ---- deformable convolution -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Convolution:
    """A call of the forward operator or a gradient: names differ with and without a mask."""

    call: Call
    kernel: tuple[int, int]
    stride: tuple[int, int]
    pad: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    deform_groups: int

    @staticmethod
    def of(call: Call) -> _Convolution:
        def pair(first: str, second: str) -> tuple[int, int]:
            return int(call[first]), int(call[second])

        if "kernel_h" in call.values:
            pairs = [pair(f"{name}_h", f"{name}_w") for name in ("kernel", "stride", "pad", "dilation")]
            groups = pair("group", "deformable_group")
        else:
            pairs = [pair(f"{name}H", f"{name}W") for name in ("k", "d", "pad", "dilation")]
            groups = pair("groups", "deform_groups")
        return _Convolution(call, pairs[0], pairs[1], pairs[2], pairs[3], *groups)

    @property
    def elements(self) -> int:
        return self.kernel[0] * self.kernel[1]

    def samples(self, n: int, group: int) -> _Samples:
        """Elements that the filters read of a map of a deform group of image n: [elements, rows, columns]."""
        offset = self.call.wide("offset")[n]
        offset = offset.reshape(self.deform_groups, self.elements, 2, *offset.shape[1:])[group]
        rows, columns = offset.shape[2:]
        k = np.arange(self.elements)[:, None, None]
        down = np.arange(rows)[None, :, None] * self.stride[0] - self.pad[0] + k // self.kernel[1] * self.dilation[0]
        right = np.arange(columns) * self.stride[1] - self.pad[1] + k % self.kernel[1] * self.dilation[1]
        height, width = self.call.shapes["input"][2:]
        size = np.abs(down) + np.abs(right) + np.abs(offset).sum(axis=1)
        return _Samples.at(down + offset[:, 0], right + offset[:, 1], height, width, size, self._eps)

    @property
    def _eps(self) -> float:
        dtype = self.call.dtype("input")
        return epsilon("float32" if dtype in ("float16", "bfloat16") else dtype)

    def mask(self, n: int, group: int) -> Array:
        """The factors, [elements, rows, columns]; 1 where there is no mask."""
        if "mask" not in self.call.values:
            return np.ones((self.elements, 1, 1))
        mask = self.call.wide("mask")[n]
        return np.asarray(mask.reshape(self.deform_groups, self.elements, *mask.shape[1:])[group])

    def channels(self, group: int) -> slice:
        """The channels of a deform group."""
        size = self.call.shapes["input"][1] // self.deform_groups
        return slice(group * size, (group + 1) * size)

    def columns(self, n: int) -> tuple[Array, Array]:
        """Elements that the filters read of image n, [channels, elements, rows, columns], and the sizes."""
        image = self.call.wide("input")[n]
        found = []
        for group in range(self.deform_groups):
            values, sizes = self.samples(n, group).read(image[self.channels(group)])
            mask = self.mask(n, group)
            found.append((values * mask, sizes * np.abs(mask)))
        return np.concatenate([one for one, _ in found]), np.concatenate([one for _, one in found])

    def by_group(self, x: Array) -> Array:
        """[groups, members, rest] of a first dimension that groups divide."""
        return np.asarray(x.reshape(self.groups, x.shape[0] // self.groups, -1))

    def column_gradients(self, n: int, gradient: str) -> tuple[Array, Array]:
        """The gradients of the columns of image n, and their sizes."""
        weight = self.by_group(self.call.wide("weight")).swapaxes(1, 2)
        grad_out = self.call.wide(gradient)[n]
        shape = (self.call.shapes["input"][1], self.elements, *grad_out.shape[1:])
        grad_out = grad_out.reshape(self.groups, grad_out.shape[0] // self.groups, shape[2] * shape[3])
        found = product(weight, grad_out), product(np.abs(weight), np.abs(grad_out))
        return found[0].reshape(shape), found[1].reshape(shape)

    @property
    def terms(self) -> int:
        """Of a response: elements and channels of a group, four pixels each."""
        return 4 * self.elements * int(self.call.shapes["input"][1] // self.groups)


@oracle("DeformConvMmcv", "ModulatedDeformConvMmcv")
def _deform_conv(call: Call) -> Answer:
    convolution = _Convolution.of(call)
    weight = convolution.by_group(call.wide("weight"))
    shape = call.shapes["output"]
    values, sizes = (np.zeros(shape, weight.dtype) for _ in range(2))
    for n in range(shape[0]):
        columns, scale = convolution.columns(n)
        grouped = [one.reshape(convolution.groups, -1, shape[2] * shape[3]) for one in (columns, scale)]
        values[n] = product(weight, grouped[0]).reshape(shape[1:])
        sizes[n] = product(np.abs(weight), grouped[1]).reshape(shape[1:])
    if call.values.get("with_bias"):
        bias = call.wide("bias")[:, None, None]
        values, sizes = values + bias, sizes + np.abs(bias)
    return {"output": Expected(values, sizes, convolution.terms)}


@dataclass
class _Gradients:
    """Gradients of images, displacements and mask, with their sizes."""

    image: tuple[Array, Array]
    offset: tuple[Array, Array]
    mask: tuple[Array, Array]
    unclear: Array

    @staticmethod
    def of(convolution: _Convolution, gradient: str) -> _Gradients:
        call = convolution.call
        image = call.wide("input")
        shape = call.shapes["offset"]
        of_image = np.zeros(image.shape, image.dtype), np.zeros(image.shape, image.dtype)
        groups = (shape[0], convolution.deform_groups, convolution.elements)
        of_offset = tuple(np.zeros((*groups, 2, *shape[2:]), image.dtype) for _ in range(2))
        of_mask = tuple(np.zeros((*groups, *shape[2:]), image.dtype) for _ in range(2))
        unclear = np.zeros((*groups, 2, *shape[2:]), bool)
        for n in range(shape[0]):
            parts, sizes = convolution.column_gradients(n, gradient)
            for group in range(convolution.deform_groups):
                samples, mask = convolution.samples(n, group), convolution.mask(n, group)
                channels = convolution.channels(group)
                maps, grad, scale = image[n, channels], parts[channels], sizes[channels]
                spread = samples.spread(grad * mask, scale * np.abs(mask), maps[0].size)
                for to, found in zip(of_image, spread, strict=True):
                    to[n, channels] = found.reshape(maps.shape)
                values, reach = samples.read(maps)
                of_mask[0][n, group] = (grad * values).sum(axis=0)
                of_mask[1][n, group] = (scale * reach).sum(axis=0)
                for axis, weights in enumerate((samples.down, samples.right)):
                    slopes, size = samples.read(maps, weights)
                    of_offset[0][n, group, :, axis] = (grad * slopes).sum(axis=0) * mask
                    of_offset[1][n, group, :, axis] = (scale * size).sum(axis=0) * np.abs(mask)
                    unclear[n, group, :, axis] = samples.unclear
        return _Gradients(of_image, (of_offset[0].reshape(shape), of_offset[1].reshape(shape)),
                          (of_mask[0], of_mask[1]), unclear.reshape(shape))  # fmt: skip


def _added(call: Call, name: str, found: tuple[Array, Array], terms: int) -> Expected:
    before = call.wide(name)
    return Expected(before + found[0].reshape(before.shape), np.abs(before) + found[1].reshape(before.shape), terms + 1)


def _gradient_terms(convolution: _Convolution, gradient: str) -> int:
    """Of a gradient of an image: any position may read one pixel with each element, each by a sum over filters."""
    shape = convolution.call.shapes[gradient]
    return int(shape[1] // convolution.groups * shape[2] * shape[3] * convolution.elements)


@oracle("DeformConvBackwardInputMmcv")
def _deform_conv_backward_input(call: Call) -> Answer:
    convolution = _Convolution.of(call)
    found = _Gradients.of(convolution, "gradOutput")
    terms = convolution.terms * call.shapes["gradOutput"][1]
    return {
        "gradInput": _added(call, "gradInput", found.image, _gradient_terms(convolution, "gradOutput")),
        "gradOffset": Expected(*found.offset, terms, free=found.unclear),
    }


def _filter_gradients(convolution: _Convolution, gradient: str) -> tuple[Array, Array, int]:
    call = convolution.call
    grad_out = call.wide(gradient)
    count = grad_out.shape[2] * grad_out.shape[3]
    shape = (convolution.groups, grad_out.shape[1] // convolution.groups, convolution.terms // 4)
    values, sizes = np.zeros(shape, grad_out.dtype), np.zeros(shape, grad_out.dtype)
    for n in range(len(grad_out)):
        of_image = grad_out[n].reshape(convolution.groups, -1, count)
        columns, scale = (one.reshape(convolution.groups, -1, count).swapaxes(1, 2) for one in convolution.columns(n))
        values += product(of_image, columns)
        sizes += product(np.abs(of_image), scale)
    return values, sizes, 4 * count * len(grad_out)


@oracle("DeformConvBackwardParametersMmcv")
def _deform_conv_backward_parameters(call: Call) -> Answer:
    values, sizes, terms = _filter_gradients(_Convolution.of(call), "gradOutput")
    scale = float(np.float32(call["scale"]))
    return {"gradWeight": _added(call, "gradWeight", (scale * values, abs(scale) * sizes), terms)}


@oracle("ModulatedDeformConvBackwardMmcv")
def _modulated_deform_conv_backward(call: Call) -> Answer:
    convolution = _Convolution.of(call)
    found = _Gradients.of(convolution, "grad_output")
    weight, weight_size, count = _filter_gradients(convolution, "grad_output")
    terms = convolution.terms * call.shapes["grad_output"][1]
    mask = call.shapes["mask"]
    answer = {
        "grad_input": _added(call, "grad_input", found.image, _gradient_terms(convolution, "grad_output")),
        "grad_weight": _added(call, "grad_weight", (weight, weight_size), count),
        "grad_offset": Expected(*found.offset, terms, free=found.unclear),
        "grad_mask": Expected(found.mask[0].reshape(mask), found.mask[1].reshape(mask), terms),
        "grad_bias": Expected(call.wide("grad_bias")),
    }
    if call["with_bias"]:
        grad_out = call.wide("grad_output").swapaxes(0, 1).reshape(call.shapes["grad_output"][1], count // 4)
        sums = grad_out.sum(axis=1), np.abs(grad_out).sum(axis=1)
        answer["grad_bias"] = _added(call, "grad_bias", sums, count)
    return answer


# ---- deformable attention -------------------------------------------------------------------------------------------


def _levels(call: Call) -> list[tuple[slice, int, int]]:
    """The pixels, height and width of each level."""
    shapes, starts = call["spatial_shapes"].astype(np.int64), call["level_start_index"].astype(np.int64)
    return [(slice(start, start + h * w), h, w) for (h, w), start in zip(shapes.tolist(), starts.tolist(), strict=True)]


def _sampled(call: Call, b: int, head: int, level: int, height: int, width: int) -> _Samples:
    """Elements that queries sample of a level for one head: [queries, points]."""
    locations = call.wide("sampling_loc")[b, :, head, level]
    x, y = locations[..., 0] * width - 0.5, locations[..., 1] * height - 0.5
    size = np.abs(locations[..., 0]) * width + np.abs(locations[..., 1]) * height + 1
    dtype = call.dtype("value")
    return _Samples.at(y, x, height, width, size, epsilon("float32" if dtype in ("float16", "bfloat16") else dtype))


@oracle("MsDeformAttnMmcv")
def _deform_attention(call: Call) -> Answer:
    value, weights = call.wide("value"), call.wide("attn_weight")
    batch, _, heads, size = value.shape
    queries, points = weights.shape[1], weights.shape[4]
    values, sizes = (np.zeros((batch, queries, heads, size), value.dtype) for _ in range(2))
    levels = _levels(call)
    for b, head in np.ndindex(batch, heads):
        for level, (pixels, height, width) in enumerate(levels):
            maps = value[b, pixels, head].T.reshape(size, height, width)
            found, scale = _sampled(call, b, head, level, height, width).read(maps)  # [size, queries, points]
            by = weights[b, :, head, level]
            values[b, :, head] += (found * by).sum(axis=2).T
            sizes[b, :, head] += (scale * np.abs(by)).sum(axis=2).T
    shape = (batch, queries, heads * size)
    expected = Expected(values.reshape(shape), sizes.reshape(shape), 4 * len(levels) * points)
    return {"out": Allocated(expected, call.dtype("value"))}


@oracle("MsDeformAttnBackwardMmcv")
def _deform_attention_backward(call: Call) -> Answer:
    value, weights = call.wide("value"), call.wide("attn_weight")
    batch, _, heads, size = value.shape
    queries, points = weights.shape[1], weights.shape[4]
    grad_out = call.wide("grad_output").reshape(batch, queries, heads, size)
    before = {name: call.wide(name) for name in ("grad_value", "grad_sampling_loc", "grad_attn_weight")}
    values = {name: array.copy() for name, array in before.items()}
    sizes = {name: np.abs(array) for name, array in before.items()}
    free = np.zeros(before["grad_sampling_loc"].shape, bool)
    for b, head in np.ndindex(batch, heads):
        grad = grad_out[b, :, head].T[:, :, None]  # [size, queries, 1]
        for level, (pixels, height, width) in enumerate(_levels(call)):
            maps = value[b, pixels, head].T.reshape(size, height, width)
            samples, by = _sampled(call, b, head, level, height, width), weights[b, :, head, level]
            spread = samples.spread(grad * by, np.abs(grad * by), height * width)
            values["grad_value"][b, pixels, head] += spread[0].T
            sizes["grad_value"][b, pixels, head] += spread[1].T
            found, scale = samples.read(maps)
            values["grad_attn_weight"][b, :, head, level] += (grad * found).sum(axis=0)
            sizes["grad_attn_weight"][b, :, head, level] += (np.abs(grad) * scale).sum(axis=0)
            for axis, (slope, length) in enumerate(((samples.right, width), (samples.down, height))):
                slopes, scale = samples.read(maps, slope)
                values["grad_sampling_loc"][b, :, head, level, :, axis] += (grad * slopes).sum(axis=0) * by * length
                part = (np.abs(grad) * scale).sum(axis=0) * np.abs(by) * length
                sizes["grad_sampling_loc"][b, :, head, level, :, axis] += part
                free[b, :, head, level, :, axis] = samples.unclear
    terms = {"grad_value": 4 * queries * points, "grad_sampling_loc": 4 * size, "grad_attn_weight": 4 * size}
    return {
        name: Expected(values[name], sizes[name], terms[name], free=free if name == "grad_sampling_loc" else None)
        for name in values
    }


# ---- columns of masked convolution ----------------------------------------------------------------------------------


@oracle("MaskedIm2colMmcv")
def _windows(call: Call) -> Answer:
    image = call["im"][0]
    height, width = int(call["kernel_h"]), int(call["kernel_w"])
    positions = call["mask_h_idx"].astype(np.int64), call["mask_w_idx"].astype(np.int64)
    found = np.zeros((image.shape[0], height, width, len(positions[0])), image.dtype)
    for i, k in np.ndindex(height, width):
        row, column = positions[0] - int(call["pad_h"]) + i, positions[1] - int(call["pad_w"]) + k
        inside = (row >= 0) & (row < image.shape[1]) & (column >= 0) & (column < image.shape[2])
        found[:, i, k, inside] = image[:, row[inside], column[inside]]
    return {"col": Expected(found.reshape(call.shapes["col"]))}


@oracle("MaskedCol2imMmcv")
def _write(call: Call) -> Answer:
    found = np.array(call["im"])
    found[0][:, call["mask_h_idx"].astype(np.int64), call["mask_w_idx"].astype(np.int64)] = call["col"]
    return {"im": Expected(found)}
