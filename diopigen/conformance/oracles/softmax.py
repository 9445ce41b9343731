"""Softmax and its logarithm along one dimension, forward and backward."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle


def log_softmax(x: Array, dim: int) -> Array:
    """The distance to the maximum, less the logarithm of the sum of exponentials. A 0-d tensor counts as 1-d."""
    rows = np.atleast_1d(x)
    if rows.size == 0:
        return x
    distance = rows - rows.max(axis=dim, keepdims=True)
    found = distance - np.log(np.exp(distance).sum(axis=dim, keepdims=True))
    return np.asarray(found.reshape(x.shape))


def log_softmax_size(x: Array, logs: Array, dim: int) -> Array:
    """The size of the terms that `logs`, the log-softmax of `x`, is rounded from: the distance to the maximum and the
    logarithm of the sum. The logits themselves do not count: two of them may be large and equal."""
    rows = np.atleast_1d(x)
    if rows.size == 0:
        return x
    distance = (rows - rows.max(axis=dim, keepdims=True)).reshape(x.shape)
    size = 1 + np.abs(logs) + np.abs(distance)
    return np.asarray(np.where(np.isfinite(size), size, 1))


def _terms(x: Array, dim: int) -> int:
    return int(np.atleast_1d(x).shape[dim])


@oracle("Softmax")
def _softmax(call: Call) -> Answer:
    x = call.wide("input")
    found = np.exp(log_softmax(x, call["dim"]))
    # The distance to the maximum is rounded once before the exponential.
    distance = np.abs(log_softmax(x, call["dim"]))
    scale = found * np.where(np.isfinite(distance), 1 + distance, 1)
    return {"out": Expected(found, scale, _terms(x, call["dim"]))}


@oracle("LogSoftmax")
def _log_softmax(call: Call) -> Answer:
    x = call.wide("input")
    found = log_softmax(x, call["dim"])
    return {"out": Expected(found, log_softmax_size(x, found, call["dim"]), _terms(x, call["dim"]))}


@oracle("SoftmaxBackward")
def _softmax_backward(call: Call) -> Answer:
    gradient, y, dim = call.wide("grad_output"), call.wide("output"), call["dim"]
    rows, values = np.atleast_1d(gradient), np.atleast_1d(y)
    total = (rows * values).sum(axis=dim, keepdims=True)
    scale = np.abs(values) * (np.abs(rows) + np.abs(rows * values).sum(axis=dim, keepdims=True))
    found = values * (rows - total)
    return {"grad_input": Expected(found.reshape(y.shape), scale.reshape(y.shape), _terms(y, dim))}


@oracle("LogSoftmaxBackward")
def _log_softmax_backward(call: Call) -> Answer:
    gradient, y, dim = call.wide("grad_output"), call.wide("output"), call["dim"]
    rows, share = np.atleast_1d(gradient), np.exp(np.atleast_1d(y))
    total = rows.sum(axis=dim, keepdims=True)
    scale = np.abs(rows) + share * np.abs(rows).sum(axis=dim, keepdims=True)
    found = rows - share * total
    return {"grad_input": Expected(found.reshape(y.shape), scale.reshape(y.shape), _terms(y, dim))}
