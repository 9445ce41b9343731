"""Normalisation by mean and deviation over channels, groups or trailing dimensions."""

from __future__ import annotations

import math

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle

Dims = tuple[int, ...]


def _moments(x: Array, dims: Dims) -> tuple[Array, Array]:
    """Mean and biased variance over dimensions, which stay with size 1."""
    mean = x.mean(axis=dims, keepdims=True)
    return mean, ((x - mean) ** 2).mean(axis=dims, keepdims=True)


def _count(x: Array, dims: Dims) -> int:
    return math.prod(x.shape[dim] for dim in dims)


def _along(call: Call, name: str, shape: Dims, missing: float) -> Array:
    """A parameter of the normalisation, shaped so that it broadcasts; `missing` where it is null."""
    if not call.has(name):
        return np.full((1,) * len(shape), missing)
    return np.asarray(call.wide(name).reshape(shape))


def _size(x: Array, dims: Dims) -> Array:
    """The size of what a mean over dimensions is added up from: its error follows from that, however small it is."""
    return np.asarray(np.abs(x).mean(axis=dims, keepdims=True))


def _normalised(
    x: Array, mean: Array, inverse: Array, weight: Array, bias: Array, terms: int, size: Array | None = None
) -> Expected:
    """The result, with what it was added up from: the mean is taken away before it is scaled. `size` is that of the
    terms of the mean, where it is not an operand."""
    centred = (x - mean) * inverse
    scale = (np.abs(x) + (np.abs(mean) if size is None else size)) * np.abs(inverse * weight) + np.abs(bias)
    return Expected(centred * weight + bias, np.broadcast_to(scale, x.shape), terms)


def _statistic(values: Array, call: Call, name: str, scale: Array, terms: int) -> Expected:
    """Mean or inverse deviation. Those of no elements are unspecified: PyTorch does not write them."""
    shape = call.shapes[name]
    free = np.ones(shape, dtype=bool) if terms == 0 else None
    return Expected(values.reshape(shape), np.broadcast_to(scale, values.shape).reshape(shape), terms, free=free)


def _trailing(call: Call, first: int, mean_name: str, inverse_name: str) -> Answer:
    """Normalisation over all dimensions from `first` on."""
    x = call.wide("input")
    dims = tuple(range(first, x.ndim))
    mean, variance = _moments(x, dims)
    inverse = 1 / np.sqrt(variance + call["eps"])
    inner = (1,) * first + x.shape[first:]
    weight, bias = _along(call, "weight", inner, 1.0), _along(call, "bias", inner, 0.0)
    terms = _count(x, dims)
    return {
        "out": _normalised(x, mean, inverse, weight, bias, terms, _size(x, dims)),
        mean_name: _statistic(mean, call, mean_name, _size(x, dims), terms),
        inverse_name: _statistic(inverse, call, inverse_name, _conditioned(x, mean, inverse, dims), terms),
    }


def _conditioned(x: Array, mean: Array, inverse: Array, dims: Dims) -> Array:
    """Weight of rounding errors of the elements in an inverse deviation."""
    largest = np.abs(x).max(axis=dims, keepdims=True, initial=0)
    return np.asarray(inverse * (1 + (largest + np.abs(mean)) * inverse))


@oracle("LayerNorm")
def _layer_norm(call: Call) -> Answer:
    first = call.wide("input").ndim - len(call["normalized_shape"])
    return _trailing(call, first, "save_mean", "save_invstd")


@oracle("LayerNormGB")
def _layer_norm_gb(call: Call) -> Answer:
    first = call["begin_norm_axis"]
    return _trailing(call, first, "running_mean", "running_var")


@oracle("RMSNorm")
def _rms_norm(call: Call) -> Answer:
    x = call.wide("input")
    first = x.ndim - len(call["normalized_shape"])
    dims = tuple(range(first, x.ndim))
    inverse = 1 / np.sqrt((x * x).mean(axis=dims, keepdims=True) + call["eps"])
    inner = (1,) * first + x.shape[first:]
    weight, bias = _along(call, "weight", inner, 1.0), _along(call, "bias", inner, 0.0)
    found, size = x * inverse * weight + bias, np.abs(x * inverse * weight)
    terms = _count(x, dims)
    return {
        # The normalised value may be rounded to the dtype of the operands before it is scaled.
        "out": Expected(found, size + np.abs(bias), terms, narrowed=size),
        "inv_rms": _statistic(inverse, call, "inv_rms", inverse, terms),
    }


@oracle("GroupNorm")
def _group_norm(call: Call) -> Answer:
    x = call.wide("input")
    samples, channels, groups = x.shape[0], x.shape[1], call["num_groups"]
    rows = x.reshape(samples, groups, channels // groups * math.prod(x.shape[2:]))
    mean, variance = _moments(rows, (2,))
    inverse = 1 / np.sqrt(variance + call["eps"])

    def spread(values: Array) -> Array:
        full = np.broadcast_to(values, (samples, groups, channels // groups))
        return full.reshape(samples, channels, *(1,) * (x.ndim - 2))

    inner = (1, channels) + (1,) * (x.ndim - 2)
    weight, bias = _along(call, "weight", inner, 1.0), _along(call, "bias", inner, 0.0)
    terms = rows.shape[2]
    return {
        "out": _normalised(x, spread(mean), spread(inverse), weight, bias, terms, spread(_size(rows, (2,)))),
        "save_mean": _statistic(mean, call, "save_mean", _size(rows, (2,)), terms),
        "save_invstd": _statistic(inverse, call, "save_invstd", _conditioned(rows, mean, inverse, (2,)), terms),
    }


def _channel_dims(x: Array) -> Dims:
    return (0, *range(2, x.ndim))


@oracle("BatchNorm")
def _batch_norm(call: Call) -> Answer:
    x = call.wide("input")
    dims, inner = _channel_dims(x), (1, x.shape[1]) + (1,) * (x.ndim - 2)
    weight, bias = _along(call, "weight", inner, 1.0), _along(call, "bias", inner, 0.0)
    if not call["training"]:
        mean, variance = call.wide("running_mean").reshape(inner), call.wide("running_var").reshape(inner)
        inverse = 1 / np.sqrt(variance + call["eps"])
        # What save_mean and save_invstd hold is only used in training; frameworks pass empty tensors as well.
        return {"out": _normalised(x, mean, inverse, weight, bias, 1)}
    terms = _count(x, dims)
    mean, variance = _moments(x, dims)
    inverse = 1 / np.sqrt(variance + call["eps"])
    size = _size(x, dims)
    answer = {
        "out": _normalised(x, mean, inverse, weight, bias, terms, size),
        "save_mean": _statistic(mean, call, "save_mean", size, terms),
        "save_invstd": _statistic(inverse, call, "save_invstd", _conditioned(x, mean, inverse, dims), terms),
    }
    share = float(call["momentum"])
    # One value has no unbiased variance: as torch.native_batch_norm, 0 over 0.
    unbiased = variance * terms / (terms - 1) if terms != 1 else np.full_like(variance, np.nan)
    for name, value, weight_of in (("running_mean", mean, size), ("running_var", unbiased, size * size + unbiased)):
        if call.has(name):
            old = call.wide(name)
            found = (1 - share) * old + share * value.ravel()
            answer[name] = Expected(found, np.abs(old) + share * np.asarray(weight_of).ravel(), terms)
    return answer


@oracle("BatchNormStats")
def _batch_norm_stats(call: Call) -> Answer:
    x = call.wide("input")
    dims = _channel_dims(x)
    mean, variance = _moments(x, dims)
    inverse = 1 / np.sqrt(variance + call["eps"])
    terms = _count(x, dims)
    return {
        "mean": _statistic(mean, call, "mean", _size(x, dims), terms),
        "invstd": _statistic(inverse, call, "invstd", _conditioned(x, mean, inverse, dims), terms),
    }


@oracle("BatchNormElemt")
def _batch_norm_elemt(call: Call) -> Answer:
    x = call.wide("input")
    inner = (1, x.shape[1]) + (1,) * (x.ndim - 2)
    mean, inverse = call.wide("mean").reshape(inner), call.wide("invstd").reshape(inner)
    weight, bias = _along(call, "weight", inner, 1.0), _along(call, "bias", inner, 0.0)
    return {"out": _normalised(x, mean, inverse, weight, bias, 1)}


@oracle("InstanceNorm")
def _instance_norm(call: Call) -> Answer:
    x = call.wide("input")
    axis = call["axis"]
    dims = tuple(range(axis, x.ndim))
    inner = (1, *x.shape[1:axis]) + (1,) * len(dims)
    mean, variance = _moments(x, dims)
    inverse = 1 / np.sqrt(variance + call["eps"])
    weight, bias = _along(call, "scale", inner, 1.0), _along(call, "bias", inner, 0.0)
    return {"output": _normalised(x, mean, inverse, weight, bias, _count(x, dims), _size(x, dims))}
