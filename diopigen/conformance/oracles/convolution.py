"""Convolutions, transposed ones and their gradients, and the unfolding of windows into columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.oracles.windows import Dims, Sliding, sizes_of
from diopigen.conformance.products import product, size_of_product

Multiply = Callable[[Array, Array], Array]
"""`product`, or `size_of_product` for the size of what is added up."""


@dataclass(frozen=True, slots=True)
class _Filters:
    """Filters [K, C / groups, *window] and how they slide over images [N, C, *size]."""

    weight: Array
    groups: int
    sliding: Sliding

    def grouped(self, weight: Array) -> Array:
        """[groups, K / groups, C / groups, elements of the window]."""
        return weight.reshape(self.groups, weight.shape[0] // self.groups, weight.shape[1], self.sliding.volume)

    def layers(self, images: Array, positions: Dims) -> Array:
        """Input windows of the filters: [elements of the window, N, groups, C / groups, *positions]."""
        seen = self.sliding.seen(images, positions)
        return seen.reshape(*seen.shape[:2], self.groups, images.shape[1] // self.groups, *positions)

    def responses(self, multiply: Multiply, images: Array, positions: Dims, weight: Array) -> Array:
        """The sum over a window of elements times weights, for every filter at every place."""
        layers, grouped = self.layers(images, positions), self.grouped(weight)
        count = math.prod(positions)
        found = np.zeros((images.shape[0], self.groups, grouped.shape[1], count), np.result_type(images, weight))
        for element, layer in enumerate(layers):
            found += multiply(grouped[..., element], layer.reshape(*layer.shape[:3], count))
        return found.reshape(images.shape[0], weight.shape[0], *positions)

    def placed(self, multiply: Multiply, responses: Array, sizes: Dims, weight: Array) -> Array:
        """The filters placed at every response and multiplied by it, added up."""
        batch, positions = responses.shape[0], responses.shape[2:]
        flat = responses.reshape(batch, self.groups, weight.shape[0] // self.groups, math.prod(positions))
        layers = np.stack(
            [multiply(element.swapaxes(-1, -2), flat) for element in np.moveaxis(self.grouped(weight), -1, 0)]
        )
        channels = self.groups * weight.shape[1]
        return self.sliding.put_back(layers.reshape(self.sliding.volume, batch, channels, *positions), sizes)

    def correlated(self, multiply: Multiply, images: Array, responses: Array) -> Array:
        """The sum over batch and places of a response times what its filter saw."""
        batch, positions = responses.shape[0], responses.shape[2:]
        layers = self.layers(images, positions)
        count = math.prod(positions)
        grouped = responses.reshape(batch, self.groups, responses.shape[1] // self.groups, count)
        sums = [
            multiply(grouped, layer.reshape(*layer.shape[:3], count).swapaxes(-1, -2)).sum(axis=0) for layer in layers
        ]
        return np.stack(sums, axis=-1).reshape(self.weight.shape)

    # ---- sizes by norms --------------------------------------------------------------------------------------------
    #
    # Winograd's and Fourier's algorithms add and subtract elements of a channel that a result does not depend on: their
    # error is bounded by norms of the channel and the filter, |x|_max * sum |w|, and no longer by sum |x| |w|. They
    # serve filters that move by one element and have no gaps.

    @property
    def has_transforms(self) -> bool:
        """Returns whether Winograd's or Fourier's algorithm can compute this convolution."""
        return set(self.sliding.steps) | set(self.sliding.spreads) == {1}

    def _by_group(self, channels: Array) -> Array:
        return channels.reshape(channels.shape[0], self.groups, channels.shape[1] // self.groups)

    def size_of_responses(self, images: Array, positions: Dims) -> Array:
        """The bound of `responses` by norms."""
        weights = np.abs(self.grouped(self.weight)).sum(axis=-1)
        found = np.einsum("ngc,gkc->ngk", self._by_group(_largest(images)), weights)
        return np.broadcast_to(
            _over(found.reshape(len(images), len(self.weight)), len(positions)),
            (len(images), len(self.weight), *positions),
        )

    def size_of_placed(self, responses: Array, sizes: Dims) -> Array:
        """The bound of `placed` by norms."""
        weights = np.abs(self.grouped(self.weight)).sum(axis=-1)
        found = np.einsum("ngk,gkc->ngc", self._by_group(_largest(responses)), weights)
        found = found.reshape(len(responses), found.shape[1] * found.shape[2])
        return np.broadcast_to(_over(found, len(sizes)), (*found.shape, *sizes))

    def size_of_correlated(self, images: Array, responses: Array) -> Array:
        """The bound of `correlated` by norms."""
        sums = np.abs(responses).sum(axis=tuple(range(2, responses.ndim)))
        found = np.einsum("ngk,ngc->gkc", self._by_group(sums), self._by_group(_largest(images)))
        shape = self.weight.shape
        return np.broadcast_to(_over(found.reshape(shape[:2]), len(shape) - 2), shape)


def _largest(images: Array) -> Array:
    """The largest size of an element, [N, C]."""
    return np.asarray(np.abs(images).max(axis=tuple(range(2, images.ndim)), initial=0))


def _over(values: Array, dims: int) -> Array:
    """Values with so many dimensions of size 1 behind."""
    return values.reshape(*values.shape, *(1,) * dims)


def _filters(call: Call) -> _Filters:
    weight = call.wide("weight")
    window = weight.shape[2:]
    steps, pads, spreads = (sizes_of(call, name, len(window)) for name in ("stride", "padding", "dilation"))
    return _Filters(weight, int(call["groups"]), Sliding(window, steps, pads, spreads))


def _sums(function: Callable[..., Array], *operands: Array, terms: int, size: Array | None = None) -> Expected:
    """A sum of products, with its size if nothing cancelled, or a larger one that its algorithms are bound by."""
    if size is None:
        size = function(size_of_product, *(np.abs(operand) for operand in operands))
    return Expected(function(product, *operands), size, terms)


def _with_bias(call: Call, product: Expected) -> Answer:
    assert product.scale is not None
    if not call.has("bias"):
        return {"out": product}
    bias = call.wide("bias").reshape(1, -1, *(1,) * (product.values.ndim - 2))
    return {"out": Expected(product.values + bias, product.scale + np.abs(bias), product.terms)}


def _respond(filters: _Filters, images: Array, positions: Dims) -> Expected:
    terms = filters.weight.shape[1] * filters.sliding.volume
    size = filters.size_of_responses(images, positions) if filters.has_transforms else None
    return _sums(
        lambda by, x, w: filters.responses(by, x, positions, w), images, filters.weight, terms=terms, size=size
    )


def _position(filters: _Filters, responses: Array, sizes: Dims) -> Expected:
    terms = filters.weight.shape[0] // filters.groups * filters.sliding.volume
    size = filters.size_of_placed(responses, sizes) if filters.has_transforms else None
    return _sums(lambda by, y, w: filters.placed(by, y, sizes, w), responses, filters.weight, terms=terms, size=size)


def _gradients(call: Call, grad_input: Expected, images: Array, responses: Array, filters: _Filters) -> Answer:
    """The gradients that the caller wants."""
    grad_output = call.wide("grad_output")
    terms = responses.shape[0] * math.prod(responses.shape[2:])
    dims = (0, *range(2, grad_output.ndim))
    added = grad_output.shape[0] * math.prod(grad_output.shape[2:])
    size = filters.size_of_correlated(images, responses) if filters.has_transforms else None
    found = {
        "grad_input": grad_input,
        "grad_weight": _sums(filters.correlated, images, responses, terms=terms, size=size),
        "grad_bias": _sums(lambda _, gradient: np.asarray(gradient.sum(axis=dims)), grad_output, terms=added),
    }
    return {name: value for name, value in found.items() if name in call.shapes}


@oracle("Convolution2d", "Convolution3d")
def _convolution(call: Call) -> Answer:
    return _with_bias(call, _respond(_filters(call), call.wide("input"), call.shapes["out"][2:]))


@oracle("Convolution2dBackward", "Convolution3dBackward")
def _convolution_backward(call: Call) -> Answer:
    filters, x, gradient = _filters(call), call.wide("input"), call.wide("grad_output")
    return _gradients(call, _position(filters, gradient, x.shape[2:]), x, gradient, filters)


@oracle("ConvTranspose2d", "ConvTranspose3d")
def _transposed(call: Call) -> Answer:
    return _with_bias(call, _position(_filters(call), call.wide("input"), call.shapes["out"][2:]))


@oracle("ConvTranspose2dBackward", "ConvTranspose3dBackward")
def _transposed_backward(call: Call) -> Answer:
    filters, x, gradient = _filters(call), call.wide("input"), call.wide("grad_output")
    return _gradients(call, _respond(filters, gradient, x.shape[2:]), gradient, x, filters)


# ---- columns --------------------------------------------------------------------------------------------------------


def _columns(call: Call, sizes: Dims) -> tuple[Sliding, Dims]:
    """The window, and how many there are per dimension."""
    names = ("kernel_size", "stride", "padding", "dilation")
    sliding = Sliding(*(sizes_of(call, name, 2) for name in names))
    positions = tuple(
        (size + 2 * pad - spread * (window - 1) - 1) // step + 1
        for size, window, step, pad, spread in zip(
            sizes, sliding.window, sliding.steps, sliding.pads, sliding.spreads, strict=True
        )
    )
    return sliding, positions


@oracle("Im2Col")
def _im2col(call: Call) -> Answer:
    x = call.wide("input")
    sliding, positions = _columns(call, x.shape[-2:])
    layers = sliding.seen(x, positions)
    # The window's elements come after their channel.
    return {"out": Expected(np.moveaxis(layers, 0, -3).reshape(call.shapes["out"]))}


@oracle("Col2Im")
def _col2im(call: Call) -> Answer:
    sizes = sizes_of(call, "output_size", 2)
    sliding, positions = _columns(call, sizes)

    def images(_: Multiply, columns: Array) -> Array:
        elements = columns.shape[-2]
        layers = columns.reshape(*columns.shape[:-2], elements // sliding.volume, sliding.volume, *positions)
        return sliding.put_back(np.moveaxis(layers, -3, 0), sizes)

    return {"out": _sums(images, call.wide("input"), terms=sliding.volume)}
