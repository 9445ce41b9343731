"""The focal losses of detectors, which mmcv.ops calls without a reduction, and their derivatives."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle

_SMALLEST = float(np.finfo(np.float32).tiny)
"""The least probability whose logarithm counts."""


def _exponents(call: Call) -> tuple[float, float]:
    """gamma and alpha, which are floats of C."""
    return float(np.float32(call["gamma"])), float(np.float32(call["alpha"]))


def _bounded_log(p: Array) -> Array:
    return np.asarray(np.log(np.maximum(p, _SMALLEST)))


def _factors(call: Call, target: Array) -> Array:
    """The weight of each sample by its class, [samples, 1]; 0 where it has none."""
    weight = call.wide("weight")
    found = weight[np.maximum(target, 0)] if weight.size else np.ones(len(target), weight.dtype)
    return np.asarray(found[:, None])


def _sigmoid_terms(call: Call) -> tuple[Array, Array, Array, Array, Array]:
    """Of each sample and class: whether it is the class, the probability of being right and of being wrong, the
    logarithm of the former, and the size of the logit."""
    x = call.wide("input")
    is_class = call["target"][:, None] == np.arange(x.shape[1])
    u = np.where(is_class, x, -x)
    small = np.exp(-np.abs(u))
    hit, miss = np.where(u < 0, small, 1) / (1 + small), np.where(u < 0, 1, small) / (1 + small)
    # log(hit) = min(u, 0) - log1p(small), down to that of the smallest normal number.
    log = np.maximum(np.minimum(u, 0) - np.log1p(small), np.log(x.dtype.type(_SMALLEST)))
    return is_class, hit, miss, log, np.abs(x)


@oracle("SigmoidFocalLossMmcv")
def _sigmoid_focal(call: Call) -> Answer:
    gamma, alpha = _exponents(call)
    is_class, _, miss, log, logit = _sigmoid_terms(call)
    weight = np.where(is_class, alpha, 1 - alpha) * _factors(call, call["target"])
    # The wrong probability and the logarithm are rounded as numbers of the size of 1 and of the logit.
    size = (logit - log) * miss**gamma - gamma * log * miss ** max(gamma - 1, 0)
    return {"output": Expected(-weight * miss**gamma * log, np.abs(weight) * size)}


@oracle("SigmoidFocalLossBackwardMmcv")
def _sigmoid_focal_backward(call: Call) -> Answer:
    gamma, alpha = _exponents(call)
    is_class, hit, miss, log, _ = _sigmoid_terms(call)
    weight = np.where(is_class, alpha, alpha - 1) * _factors(call, call["target"])
    slope = -(miss**gamma) * (miss - gamma * hit * log)
    size = miss**gamma * (1 + gamma * (1 - log) - gamma * gamma * log)
    return {"grad_input": Expected(weight * slope, np.abs(weight) * size)}


def _softmax_terms(call: Call) -> tuple[Array, Array, Array]:
    """Returns whether each sample counts, its class (0 where it does not), and the probability of that."""
    target = call["target"].astype(np.int64)
    counts, label = target >= 0, np.maximum(target, 0)
    probabilities = call.wide("softmax")
    return counts, label, np.where(counts, probabilities[np.arange(len(label)), label], 1)


@oracle("SoftmaxFocalLossMmcv")
def _softmax_focal(call: Call) -> Answer:
    gamma, alpha = _exponents(call)
    counts, label, p = _softmax_terms(call)
    values = np.where(counts, -alpha * (1 - p) ** gamma * _bounded_log(p), 0) * _factors(call, label)[:, 0]
    return {"output": Expected(values, (1 + gamma) * np.abs(values))}


@oracle("SoftmaxFocalLossBackwardMmcv")
def _softmax_focal_backward(call: Call) -> Answer:
    gamma, alpha = _exponents(call)
    counts, label, p = _softmax_terms(call)
    slope = -((1 - p) ** gamma)
    inside = p < 1
    rest = np.where(inside, 1 - p, 1)
    # At p = 1 the logarithm is 0, whatever the power.
    slope += np.where(inside, gamma * rest ** (gamma - 1) * p * _bounded_log(p), 0)
    own = np.arange(call.shapes["softmax"][1]) == label[:, None]
    values = np.where(counts, alpha * slope, 0)[:, None] * (own - call.wide("softmax")) * _factors(call, label)
    return {"grad_input": Expected(values, (2 + gamma) * np.abs(values))}
