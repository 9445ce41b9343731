"""Losses. Classes are in dimension 1 of [N, C, ...] or in dimension 0 of [C]."""

from __future__ import annotations

from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.oracles.softmax import log_softmax, log_softmax_size


def reduced(call: Call, losses: Array, weight: Any = None, scale: Array | None = None) -> Expected:
    """Losses of the elements, reduced as the call says; `weight` is the divisor of the mean (default: how many)."""
    mode = call["reduction"]
    size = np.abs(losses) if scale is None else scale
    if mode == "ReductionNone":
        return Expected(losses, size)
    total, total_size = losses.sum(), size.sum()
    if mode == "ReductionMean":
        divisor = losses.dtype.type(losses.size if weight is None else weight)
        total, total_size = total / divisor, total_size / np.abs(divisor)
    return Expected(np.asarray(total), np.asarray(total_size), max(losses.size, 1))


@oracle("MSELoss")
def _mse(call: Call) -> Answer:
    x, target = call.wide("input"), call.wide("target")
    distance = x - target
    scale = np.abs(distance) * (np.abs(x) + np.abs(target))
    return {"out": reduced(call, distance**2, scale=scale + distance**2)}


def _grad_output(call: Call, count: Any) -> Array:
    """The gradient with respect to the loss of each element or sample; the mean divides it by `count`."""
    gradient = call.wide("grad_output")
    return np.asarray(gradient / gradient.dtype.type(count)) if call["reduction"] == "ReductionMean" else gradient


def _gradient(call: Call, slope: Array, size: Array) -> Answer:
    """The gradient of a loss of single elements, from its slope and the size of what that was added up from."""
    grad_output = _grad_output(call, slope.size)
    return {"grad_input": Expected(grad_output * slope, np.abs(grad_output) * size)}


@oracle("MSELossBackward")
def _mse_backward(call: Call) -> Answer:
    x, target = call.wide("input"), call.wide("target")
    return _gradient(call, 2 * (x - target), 2 * (np.abs(x) + np.abs(target)))


@oracle("SmoothL1Loss")
def _smooth_l1(call: Call) -> Answer:
    x, target, beta = call.wide("input"), call.wide("target"), float(call["beta"])
    distance = np.abs(x - target)
    size = np.abs(x) + np.abs(target) + beta
    losses = np.where(distance < beta, distance**2 / (2 * beta) if beta else 0.0, distance - beta / 2)
    return {"out": reduced(call, losses, scale=size)}


@oracle("SmoothL1LossBackward")
def _smooth_l1_backward(call: Call) -> Answer:
    x, target, beta = call.wide("input"), call.wide("target"), float(call["beta"])
    distance = x - target
    if beta == 0:
        slope = np.where(distance > 0, 1.0, np.where(distance <= 0, -1.0, np.nan))
        return _gradient(call, slope, np.abs(slope))
    return _gradient(call, np.clip(distance / beta, -1, 1), np.minimum((np.abs(x) + np.abs(target)) / beta, 2))


def _softplus(x: Array) -> Array:
    """log(1 + exp(x)): minus the logarithm of the chance of the negative label."""
    return np.logaddexp(0, x)


def _sigmoid(x: Array) -> Array:
    return np.exp(-_softplus(-x))


def _factor(call: Call, name: str) -> Array:
    return call.wide(name) if call.has(name) else np.ones(())


@oracle("BCEWithLogits")
def _bce_with_logits(call: Call) -> Answer:
    x, target = call.wide("input"), call.wide("target")
    positive, weight = _factor(call, "pos_weight"), _factor(call, "weight")
    losses = weight * (positive * target * _softplus(-x) + (1 - target) * _softplus(x))
    # A usual form adds (1 - target) * x and (1 + (pos_weight - 1) * target) * softplus(-x).
    factor = np.maximum(1 + np.abs((positive - 1) * target), np.abs(1 - target) + np.abs(positive * target))
    size = np.abs(weight) * (np.abs((1 - target) * x) + factor * _softplus(-x))
    return {"out": reduced(call, losses, scale=np.broadcast_to(size, losses.shape))}


@oracle("BCEWithLogitsBackward")
def _bce_with_logits_backward(call: Call) -> Answer:
    x, target = call.wide("input"), call.wide("target")
    positive, weight = _factor(call, "pos_weight"), _factor(call, "weight")
    up, rest = positive * target, 1 - target
    slope, size = (rest + up) * _sigmoid(x) - up, (np.abs(rest) + np.abs(up)) * _sigmoid(x) + np.abs(up)
    return _gradient(call, weight * slope, np.abs(weight) * size)


@oracle("BCELoss")
def _bce(call: Call) -> Answer:
    x, target, weight = call.wide("input"), call.wide("target"), _factor(call, "weight")
    hit, miss = (-np.maximum(np.log(chance), -100) for chance in (x, 1 - x))
    losses = weight * (target * hit + (1 - target) * miss)
    return {"out": reduced(call, losses, scale=np.abs(losses) + np.abs(weight))}


@oracle("BCELossBackward")
def _bce_backward(call: Call) -> Answer:
    x, target, weight = call.wide("input"), call.wide("target"), _factor(call, "weight")
    divisor = np.maximum((1 - x) * x, 1e-12)
    return _gradient(call, weight * (x - target) / divisor, np.abs(weight) * (x + target) / divisor)


@oracle("SigmoidFocalLoss")
def _sigmoid_focal(call: Call) -> Answer:
    x, label = call.wide("inputs"), call.wide("targets")
    alpha, gamma = float(call["alpha"]), float(call["gamma"])
    entropy = label * _softplus(-x) + (1 - label) * _softplus(x)
    miss = label * _sigmoid(-x) + (1 - label) * _sigmoid(x)
    weight = alpha * label + (1 - alpha) * (1 - label) if alpha >= 0 else np.ones_like(x)
    losses = weight * entropy * miss**gamma
    # 1 - p and the entropy are rounded as numbers of the size of 1 and of the logit.
    size = np.abs(weight) * ((entropy + np.abs(x)) * miss**gamma + gamma * entropy * miss ** max(gamma - 1, 0))
    return {"out": reduced(call, losses, scale=size)}


@oracle("SigmoidFocalLossBackward")
def _sigmoid_focal_backward(call: Call) -> Answer:
    x, label = call.wide("input"), call.wide("target")
    alpha, gamma = float(call["alpha"]), float(call["gamma"])
    # With u = x for positive labels and -x for negative ones, the loss is softplus(-u) * sigmoid(-u) ** gamma.
    sign = 2 * label - 1
    u = sign * x
    miss, hit, entropy = _sigmoid(-u), _sigmoid(u), _softplus(-u)
    slope = -sign * miss**gamma * (miss + gamma * entropy * hit)
    weight = alpha * label + (1 - alpha) * (1 - label) if alpha >= 0 else np.ones_like(x)
    size = np.abs(weight) * miss**gamma * (1 + gamma * (entropy + 1) + gamma * gamma * entropy)
    return _gradient(call, weight * slope, size)


def _classes(x: Array) -> tuple[Array, int]:
    """The scores with classes in dimension 1, and how many classes there are."""
    rows = x if x.ndim > 1 else x[None]
    return rows, rows.shape[1]


def _targets(call: Call) -> tuple[Array, Array]:
    """Class of each sample, 0 where it does not count, and whether it counts."""
    target = call["target"].astype(np.int64)
    target = target if call["input"].ndim > 1 else target.reshape(1)
    counts = target != call["ignore_index"]
    return np.where(counts, target, 0), counts


def _picked(scores: Array, target: Array) -> Array:
    if scores.shape[1] == 0:  # no target counts
        return np.zeros(target.shape)
    return np.asarray(np.take_along_axis(scores, target[:, None], axis=1)[:, 0])


def _weights(call: Call, count: int) -> Array:
    return call.wide("weight") if call.has("weight") else np.ones(count)


def _weights_of(call: Call, count: int, target: Array) -> Array:
    return _weights(call, count)[target] if count else np.zeros(target.shape)


@oracle("NLLLoss", "NLLLossV2")
def _nll(call: Call) -> Answer:
    scores, count = _classes(call.wide("input"))
    target, counts = _targets(call)
    weights = _weights_of(call, count, target) * counts
    losses = -_picked(scores, target) * weights
    losses = np.where(counts, losses, 0.0)
    shape = call.shapes["target"]
    answer: dict[str, Any] = {"out": reduced(call, losses.reshape(shape), weights.sum())}
    if "totalWeight" in call.shapes:
        total = weights.sum() if call["reduction"] != "ReductionNone" else 0.0
        answer["totalWeight"] = Expected(np.asarray(total), None, max(weights.size, 1))
    return answer


@oracle("NLLLossBackward", "NLLLossV2Backward")
def _nll_backward(call: Call) -> Answer:
    scores, count = _classes(call.wide("input"))
    target, counts = _targets(call)
    weights = _weights_of(call, count, target) * counts
    divisor = call.wide("totalWeight").reshape(()) if "totalWeight" in call.shapes else weights.sum()
    grad_output = np.broadcast_to(_grad_output(call, divisor), call.shapes["target"]).reshape(target.shape)
    picked = np.arange(count).reshape(1, count, *(1,) * (scores.ndim - 2)) == target[:, None]
    selected = picked & counts[:, None]
    found = np.where(selected, -(weights * grad_output)[:, None], 0.0)
    terms = 1 if "totalWeight" in call.shapes else max(target.size, 1)
    return {"grad_input": Expected(found.reshape(call.shapes["input"]), None, terms, signed_zero=False)}


def _times(logs: Array, factors: Array) -> Array:
    """The products with factors, where a factor of 0 leaves nothing of minus infinity."""
    return np.asarray(np.where(factors == 0, 0, logs * factors))


@oracle("CrossEntropyLoss")
def _cross_entropy(call: Call) -> Answer:
    scores, count = _classes(call.wide("input"))
    if count == 0:  # a sum of no terms
        return {"out": Expected(np.zeros(call.shapes["out"]))}
    logs = log_softmax(scores, 1)
    size = log_softmax_size(scores, logs, 1)
    weights = _weights(call, count)
    along = weights.reshape(1, count, *(1,) * (scores.ndim - 2))
    smoothing = float(call["label_smoothing"])
    if call["target"].dtype.kind in "iu":
        target, counts = _targets(call)
        selected = weights[target] * counts
        sharp = -_times(_picked(logs, target), selected)
        even = -_times(logs, along * np.ones_like(logs) * smoothing).sum(axis=1) / count * counts
        losses = (1 - smoothing) * sharp + even
        spread = (size * np.abs(along)).sum(axis=1) / count * counts
        scale = (1 - smoothing) * _picked(size, target) * np.abs(selected) + smoothing * spread
        shape = call.shapes["target"]
        return {"out": reduced(call, losses.reshape(shape), selected.sum(), scale.reshape(shape))}
    chances = call.wide("target").reshape(scores.shape) * (1 - smoothing) + smoothing / count
    losses, scale = -_times(logs, chances * along).sum(axis=1), (size * np.abs(chances * along)).sum(axis=1)
    shape = losses.shape if call["input"].ndim > 1 else ()
    samples = float(losses.size)
    return {"out": reduced(call, losses.reshape(shape), samples, scale.reshape(shape))}


@oracle("CrossEntropyLossBackward")
def _cross_entropy_backward(call: Call) -> Answer:
    scores, count = _classes(call.wide("input"))
    if count == 0:
        return {"grad_input": Expected(scores)}
    logs = log_softmax(scores, 1)
    chance = np.exp(logs)
    along = _weights(call, count).reshape(1, count, *(1,) * (scores.ndim - 2))
    smoothing = float(call["label_smoothing"])
    samples = scores.shape[:1] + scores.shape[2:]
    if call["target"].dtype.kind in "iu":
        target, counts = _targets(call)
        expected = (np.arange(count).reshape(along.shape) == target[:, None]) * 1.0
        shares = _weights(call, count)[target] * counts
    else:
        expected, counts = call.wide("target").reshape(scores.shape), np.ones(samples, dtype=bool)
        shares = np.ones(samples)
    # The loss is the sum of a[c] * (logsumexp(x) - x[c]) over the classes.
    a = along * ((1 - smoothing) * expected + smoothing / count)
    slope = a.sum(axis=1, keepdims=True) * chance - a
    size = np.abs(a).sum(axis=1, keepdims=True) * chance * log_softmax_size(scores, logs, 1) + np.abs(a)
    grad_output = np.broadcast_to(_grad_output(call, shares.sum()), samples if call["input"].ndim > 1 else ())
    grad_output = grad_output.reshape(samples)[:, None]
    keep = np.broadcast_to(counts[:, None], scores.shape)
    found, size = np.where(keep, grad_output * slope, 0.0), np.where(keep, np.abs(grad_output) * size, 0.0)
    shape = call.shapes["input"]
    return {"grad_input": Expected(found.reshape(shape), size.reshape(shape), max(count, shares.size))}
