"""Gradients of normalisations, and the pieces of batch normalisation over several devices."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle

Dims = tuple[int, ...]


def _shaped(call: Call, name: str, shape: Dims) -> Array:
    return call.wide(name).reshape(shape) if call.has(name) else np.ones((1,) * len(shape))


def _summed(call: Call, name: str, terms: Array, dims: Dims, size: Array | None = None) -> Expected:
    """A sum over dimensions, in the shape of an output; `size` holds the sizes of the terms."""
    sizes = np.abs(terms) if size is None else size
    shape = call.shapes[name]
    count = max(math.prod(terms.shape[dim] for dim in dims), 1)
    return Expected(terms.sum(axis=dims).reshape(shape), sizes.sum(axis=dims).reshape(shape), count)


def _factors(call: Call, names: tuple[str, str], grad_output: Array, normal: Array, size: Array, dims: Dims) -> Answer:
    """The gradients of scale and shift that the caller wants; `size` is that of the normalised values."""
    answer: dict[str, Any] = {}
    if names[0] in call.shapes:
        answer[names[0]] = _summed(call, names[0], grad_output * normal, dims, np.abs(grad_output) * size)
    if names[1] in call.shapes:
        answer[names[1]] = _summed(call, names[1], grad_output, dims)
    return answer


def _through(
    own: Array, centred: Array, inverse: Array, dims: Dims, size: Array, *, centring: bool = True
) -> tuple[Array, Array, int]:
    """The gradient of `centred * inverse` over dimensions that were normalised together, where both follow from the
    elements (`centring`: a mean was taken away); its size and how many terms it has. `own` is the gradient with the
    scale in it, `size` that of the numbers that `centred` was made of."""
    normal, sizes = centred * inverse, size * np.abs(inverse)
    count = max(math.prod(own.shape[dim] for dim in dims), 1)
    product = (own * normal).sum(axis=dims, keepdims=True) / count
    found = own - normal * product
    product_size = (np.abs(own) * sizes).sum(axis=dims, keepdims=True) / count
    total = np.abs(own) + sizes * product_size
    if centring:
        found = found - own.sum(axis=dims, keepdims=True) / count
        total = total + np.abs(own).sum(axis=dims, keepdims=True) / count
    return inverse * found, np.abs(inverse) * total, count


def _trailing(call: Call, first: int, mean: str, inverse: str) -> Answer:
    x, grad_output = call.wide("input"), call.wide("grad_output")
    dims, outer = tuple(range(first, x.ndim)), tuple(range(first))
    with_ones = x.shape[:first] + (1,) * (x.ndim - first)
    middle, factor = call.wide(mean).reshape(with_ones), call.wide(inverse).reshape(with_ones)
    weight = _shaped(call, "weight", (1,) * first + x.shape[first:])
    size = np.abs(x) + np.abs(middle)
    found, total, count = _through(grad_output * weight, x - middle, factor, dims, size)
    normal = (x - middle) * factor
    return {
        "grad_input": Expected(found, total, count),
        **_factors(call, ("grad_weight", "grad_bias"), grad_output, normal, size * np.abs(factor), outer),
    }


@oracle("LayerNormBackward")
def _layer_norm(call: Call) -> Answer:
    return _trailing(call, call.wide("input").ndim - len(call["normalized_shape"]), "mean", "rstd")


@oracle("LayerNormGBBackward")
def _layer_norm_gb(call: Call) -> Answer:
    return _trailing(call, call["begin_norm_axis"], "running_mean", "running_std")


@oracle("RMSNormBackward")
def _rms_norm(call: Call) -> Answer:
    x, grad_output = call.wide("input"), call.wide("grad_output")
    first = x.ndim - len(call["normalized_shape"])
    inverse = call.wide("inv_rms").reshape(x.shape[:first] + (1,) * (x.ndim - first))
    dims, outer = tuple(range(first, x.ndim)), tuple(range(first))
    weight = _shaped(call, "weight", (1,) * first + x.shape[first:])
    found, total, count = _through(grad_output * weight, x, inverse, dims, np.abs(x), centring=False)
    return {
        "grad_input": Expected(found, total, count),
        **_factors(call, ("grad_weight", "grad_bias"), grad_output, x * inverse, np.abs(x * inverse), outer),
    }


@oracle("GroupNormBackward")
def _group_norm(call: Call) -> Answer:
    x = call.wide("input")
    samples, channels, groups = x.shape[0], x.shape[1], call["num_groups"]
    split = (samples, groups, channels // groups, math.prod(x.shape[2:]))
    rows, grad_output = x.reshape(split), call.wide("grad_output").reshape(split)
    mean, inverse = (call.wide(name).reshape(samples, groups, 1, 1) for name in ("mean", "rstd"))
    weight = call.wide("weight").reshape(1, groups, -1, 1) if call.has("weight") else np.ones((1, 1, 1, 1))
    size = np.abs(rows) + np.abs(mean)
    found, total, count = _through(grad_output * weight, rows - mean, inverse, (2, 3), size)
    normal = (rows - mean) * inverse
    answer = dict(_factors(call, ("grad_weight", "grad_bias"), grad_output, normal, size * np.abs(inverse), (0, 3)))
    of_weight = answer.get("grad_weight")
    if rows.shape[3] == 0 and isinstance(of_weight, Expected):
        # A sum of no terms is 0; PyTorch multiplies sums by the mean, which is NaN.
        answer["grad_weight"] = replace(of_weight, free=np.ones(call.shapes["grad_weight"], dtype=bool))
    return {"grad_input": Expected(found.reshape(x.shape), total.reshape(x.shape), count), **answer}


@oracle("InstanceNormBackward")
def _instance_norm(call: Call) -> Answer:
    x, grad_output = call.wide("input"), call.wide("grad_output")
    axis = call["axis"]
    dims = tuple(range(axis, x.ndim))
    mean = x.mean(axis=dims, keepdims=True)
    inverse = 1 / np.sqrt(((x - mean) ** 2).mean(axis=dims, keepdims=True) + call["eps"])
    scale = _shaped(call, "scale", (1, *x.shape[1:axis]) + (1,) * len(dims))
    size = np.abs(x) + np.abs(x).mean(axis=dims, keepdims=True)
    found, total, count = _through(grad_output * scale, x - mean, inverse, dims, size)
    normal = (x - mean) * inverse
    # The statistics are computed again, so that errors of theirs add to those of the sums.
    conditioned = 1 + size.max(axis=dims, keepdims=True, initial=0) * inverse
    names = ("grad_scale", "grad_bias")
    return {
        "grad_input": Expected(found, total * conditioned, count),
        **_factors(call, names, grad_output, normal, size * inverse * conditioned, (0, *dims)),
    }


def _channels(x: Array) -> tuple[Dims, Dims]:
    """The dimensions that a channel extends over, and a shape with which a vector of channels broadcasts."""
    return (0, *range(2, x.ndim)), (1, x.shape[1]) + (1,) * (x.ndim - 2)


@oracle("BatchNormBackward")
def _batch_norm(call: Call) -> Answer:
    x, grad_output = call.wide("input"), call.wide("grad_output")
    dims, inner = _channels(x)
    weight = _shaped(call, "weight", inner)
    if call["training"]:
        mean, inverse = call.wide("save_mean").reshape(inner), call.wide("save_invstd").reshape(inner)
    else:
        mean = call.wide("running_mean").reshape(inner)
        inverse = 1 / np.sqrt(call.wide("running_var").reshape(inner) + call["eps"])
    size, normal = np.abs(x) + np.abs(mean), (x - mean) * inverse
    if call["training"]:
        found, total, count = _through(grad_output * weight, x - mean, inverse, dims, size)
    else:
        found, count = grad_output * weight * inverse, 1
        total = np.abs(found)
    return {
        "grad_input": Expected(found, total, count),
        **_factors(call, ("grad_weight", "grad_bias"), grad_output, normal, size * np.abs(inverse), dims),
    }


@oracle("BatchNormGatherStatsWithCounts")
def _gather(call: Call) -> Answer:
    means, inverses = call.wide("mean_all"), call.wide("invstd_all")
    counts, eps, share = call.wide("counts")[:, None], float(call["eps"]), float(call["momentum"])
    total = counts.sum()
    mean = (counts * means).sum(axis=0) / total
    # The mean of squares of the union, less the square of its mean, without their cancellation.
    squares = (counts * (inverses**-2 - eps + (means - mean) ** 2)).sum(axis=0)
    variance = squares / total
    inverse = 1 / np.sqrt(variance + eps)
    mean_size = (counts * np.abs(means)).sum(axis=0) / total
    spread = (counts * (inverses**-2 + eps + (np.abs(means) + np.abs(mean)) ** 2)).sum(axis=0) / total
    terms = len(means)
    answer: dict[str, Any] = {
        "mean": Expected(mean, mean_size, terms),
        "invstd": Expected(inverse, inverse * (1 + spread * inverse**2), terms),
    }
    unbiased = squares / (total - 1)
    for name, value, size in (("running_mean", mean, mean_size), ("running_var", unbiased, 2 * spread)):
        if call.has(name):
            old = call.wide(name)
            answer[name] = Expected((1 - share) * old + share * value, np.abs(old) + share * size, terms)
    return answer


@oracle("BatchNormBackwardReduce")
def _reduce(call: Call) -> Answer:
    x, grad_output = call.wide("input"), call.wide("grad_out")
    dims, inner = _channels(x)
    mean, inverse = call.wide("mean").reshape(inner), call.wide("invstd").reshape(inner)
    size = np.abs(grad_output) * (np.abs(x) + np.abs(mean))
    terms = {
        "sum_dy": (grad_output, np.abs(grad_output), call["input_g"]),
        "sum_dy_xmu": (grad_output * (x - mean), size, call["input_g"]),
        "grad_weight": (grad_output * (x - mean) * inverse, size * np.abs(inverse), call["weight_g"]),
        "grad_bias": (grad_output, np.abs(grad_output), call["bias_g"]),
    }
    expected = {name: values for name, values in terms.items() if name in call.shapes and values[2]}
    return {name: _summed(call, name, values, dims, sizes) for name, (values, sizes, _) in expected.items()}


@oracle("BatchNormBackwardElemt")
def _elements(call: Call) -> Answer:
    x, grad_output = call.wide("input"), call.wide("grad_out")
    inner = _channels(x)[1]
    mean, inverse, sums, products = (
        call.wide(name).reshape(inner) for name in ("mean", "invstd", "sum_dy", "sum_dy_xmu")
    )
    weight, total = _shaped(call, "weight", inner), call.wide("count").sum()
    pull = products / total * inverse**2
    found = (grad_output - sums / total - (x - mean) * pull) * inverse * weight
    size = np.abs(grad_output) + np.abs(sums / total) + (np.abs(x) + np.abs(mean)) * np.abs(pull)
    return {"grad_input": Expected(found, size * np.abs(inverse * weight))}


def _norm(x: Array, p: float, axis: int) -> Array:
    """The p-norm along a dimension, which stays with size 1."""
    if math.isinf(p):
        pick = np.max if p > 0 else np.min
        return np.asarray(pick(np.abs(x), axis=axis, keepdims=True))
    if p == 0:
        return np.asarray((x != 0).sum(axis=axis, keepdims=True), dtype=np.float64)
    return np.asarray((np.abs(x) ** p).sum(axis=axis, keepdims=True) ** (1 / p))


@oracle("Normalize")
def _normalize(call: Call) -> Answer:
    x, axis = call.wide("input"), call["axis"]
    found = x / np.maximum(_norm(x, float(call["p"]), axis), call["eps"])
    return {"output": Expected(found, None, x.shape[axis])}


@oracle("NormalizeBackward")
def _normalize_backward(call: Call) -> Answer:
    x, grad_output, axis, p = call.wide("input"), call.wide("grad_output"), call["axis"], float(call["p"])
    norm = _norm(x, p, axis)
    divisor = np.maximum(norm, call["eps"])
    # The derivative of the norm; where it has a corner, PyTorch takes 0, and shares among equal largest ones.
    if p == 0:
        slope = np.zeros_like(x)
    elif math.isinf(p):
        largest = np.abs(x) == norm
        slope = np.sign(x) * largest / largest.sum(axis=axis, keepdims=True)
    else:
        smooth = (x != 0) & (norm != 0)
        slope = np.where(smooth, np.sign(x) * (np.where(smooth, np.abs(x), 1) / norm) ** (p - 1), 0.0)
    slope = np.where(norm < call["eps"], 0.0, slope)
    product = (grad_output * x).sum(axis=axis, keepdims=True)
    size = (np.abs(grad_output * x)).sum(axis=axis, keepdims=True)
    found = grad_output / divisor - slope * product / divisor**2
    total = np.abs(grad_output) / divisor + (1 + abs(p) if math.isfinite(p) else 1) * np.abs(slope) * size / divisor**2
    return {"grad_input": Expected(found, total, x.shape[axis])}
