"""Sparse convolution and pooling along pairs of rows, and rotated copies of filters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, oracle
from diopigen.conformance.products import product


def _pairs(call: Call) -> Iterator[tuple[int, Array, Array]]:
    """Of each position in the window: its number, the input rows and the output rows of the pairs that count."""
    pairs, counts = call["indicePairs"].astype(np.int64), call["indiceNum"].astype(np.int64)
    is_inverse = int(call.values.get("_inverse") or 0) != 0
    for position, count in enumerate(counts.tolist()):
        first, second = pairs[position, :, : max(count, 0)]
        yield (position, second, first) if is_inverse else (position, first, second)


def _filters(call: Call) -> Array:
    """[positions, input channels, output channels]."""
    filters = call.wide("filters")
    return np.asarray(filters.reshape(len(call["indiceNum"]), *filters.shape[-2:]))


def _most(call: Call, number: int) -> int:
    """The largest number of pairs that a row is in: as input (0) or as output (1)."""
    rows = [pair[1 + number] for pair in _pairs(call)]
    return int(np.bincount(np.concatenate(rows), minlength=1).max()) if rows else 1


@oracle("IndiceMaxpoolMmcv")
def _pool(call: Call) -> Answer:
    features = call["features"]
    found = np.zeros((int(call["numAct"]), features.shape[1]), features.dtype)
    for _, rows, results in _pairs(call):
        np.fmax.at(found, results, features[rows])
    return {"out": Allocated(Expected(found, signed_zero=False), call.dtype("features"))}


@oracle("IndiceMaxpoolBackwardMmcv")
def _pool_backward(call: Call) -> Answer:
    features, maxima, gradient = call["features"], call["outFeatures"], call.wide("outGrad")
    values = np.zeros(features.shape, gradient.dtype)
    sizes = np.zeros_like(values)
    for _, rows, results in _pairs(call):
        parts = np.where(features[rows] == maxima[results], gradient[results], 0)
        np.add.at(values, rows, parts)
        np.add.at(sizes, rows, np.abs(parts))
    return {"out": Allocated(Expected(values, sizes, max(_most(call, 0), 1)), call.dtype("features"))}


@oracle("IndiceConvMmcv", "FusedIndiceConvBatchnormMmcv")
def _convolve(call: Call) -> Answer:
    features, filters = call.wide("features"), _filters(call)
    values = np.zeros((int(call["numActOut"]), filters.shape[2]), features.dtype)
    sizes = np.zeros_like(values)
    for position, rows, results in _pairs(call):
        np.add.at(values, results, product(features[rows], filters[position]))
        np.add.at(sizes, results, product(np.abs(features[rows]), np.abs(filters[position])))
    if call.has("bias"):
        bias = call.wide("bias")
        values, sizes = values + bias, sizes + np.abs(bias)
    terms = features.shape[1] * _most(call, 1) + 1
    return {"out": Allocated(Expected(values, sizes, terms), call.dtype("features"))}


@oracle("IndiceConvBackwardMmcv")
def _convolve_backward(call: Call) -> Answer:
    features, filters, gradient = call.wide("features"), _filters(call), call.wide("outGrad")
    of_features = np.zeros_like(features), np.zeros_like(features)
    of_filters = np.zeros_like(filters), np.zeros_like(filters)
    most = 1
    for position, rows, results in _pairs(call):
        grad_out = gradient[results]
        operands = features[rows], filters[position], grad_out
        for number, (inputs, weights, grad) in enumerate((operands, tuple(np.abs(one) for one in operands))):
            np.add.at(of_features[number], rows, product(grad, weights.T))
            of_filters[number][position] = product(inputs.T, grad)
        most = max(most, len(rows))
    dtype, shape = call.dtype("features"), call.shapes["filters"]
    by_features = Expected(of_features[0], of_features[1], max(filters.shape[2] * _most(call, 0), 1))
    by_filters = Expected(of_filters[0].reshape(shape), of_filters[1].reshape(shape), most)
    return {"outlist": [Allocated(by_features, dtype), Allocated(by_filters, dtype)]}


# ---- rotated copies of filters --------------------------------------------------------------------------------------


def _rotations(call: Call) -> Array:
    """Target of each element of a filter, [rotations, elements], counted from 0."""
    indices = call["indices"].astype(np.int64)
    rows, height, width, rotations = indices.shape
    return np.asarray(indices.reshape(rows * height * width, rotations).T - 1)


@oracle("ActiveRotatedFilterMmcv")
def _rotate(call: Call) -> Answer:
    filters, rotations = call["input"], _rotations(call)
    outputs, inputs = filters.shape[:2]
    found = np.zeros((outputs, len(rotations), inputs, rotations.shape[1]), filters.dtype)
    for number, positions in enumerate(rotations):
        found[:, number, :, positions] = filters.reshape(outputs, inputs, rotations.shape[1]).transpose(2, 0, 1)
    return {"output": Expected(found.reshape(call.shapes["output"]))}


@oracle("ActiveRotatedFilterBackwardMmcv")
def _rotate_backward(call: Call) -> Answer:
    rotations = _rotations(call)
    shape = call.shapes["grad_in"]
    gradient = call.wide("grad_out").reshape(shape[0], len(rotations), shape[1], rotations.shape[1])
    parts = np.stack([gradient[:, number][:, :, positions] for number, positions in enumerate(rotations)])
    values, sizes = parts.sum(axis=0), np.abs(parts).sum(axis=0)
    return {"grad_in": Expected(values.reshape(shape), sizes.reshape(shape), len(rotations))}
