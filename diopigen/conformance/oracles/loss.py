"""Losses. Classes stand in dimension 1 of [N, C, ...] or in dimension 0 of [C]."""

from __future__ import annotations

from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.oracles.softmax import log_softmax


def reduced(call: Call, losses: Array, weight: float | None = None, scale: Array | None = None) -> Expected:
    """Losses of the elements, reduced as the call says; `weight` is the divisor of the mean (default: how many)."""
    mode = call["reduction"]
    size = np.abs(losses) if scale is None else scale
    if mode == "ReductionNone":
        return Expected(losses, size)
    total, total_size = losses.sum(), size.sum()
    if mode == "ReductionMean":
        divisor = np.float64(losses.size if weight is None else weight)
        total, total_size = total / divisor, total_size / np.abs(divisor)
    return Expected(np.asarray(total), np.asarray(total_size), max(losses.size, 1))


@oracle("MSELoss")
def _mse(call: Call) -> Answer:
    x, target = call.wide("input"), call.wide("target")
    distance = x - target
    scale = np.abs(distance) * (np.abs(x) + np.abs(target))
    return {"out": reduced(call, distance**2, scale=scale + distance**2)}


@oracle("MSELossBackward")
def _mse_backward(call: Call) -> Answer:
    x, target, gradient = call.wide("input"), call.wide("target"), call.wide("grad_output")
    share = x.size if call["reduction"] == "ReductionMean" else 1
    factor = 2 * gradient / share
    return {"grad_input": Expected(factor * (x - target), np.abs(factor) * (np.abs(x) + np.abs(target)))}


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
    return np.asarray(np.take_along_axis(scores, target[:, None], axis=1)[:, 0])


def _weights(call: Call, count: int) -> Array:
    return call.wide("weight") if call.given("weight") else np.ones(count)


@oracle("NLLLoss", "NLLLossV2")
def _nll(call: Call) -> Answer:
    scores, count = _classes(call.wide("input"))
    target, counts = _targets(call)
    weights = _weights(call, count)[target] * counts
    losses = -_picked(scores, target) * weights
    losses = np.where(counts, losses, 0.0)
    shape = call.shapes["target"]
    answer: dict[str, Any] = {"out": reduced(call, losses.reshape(shape), float(weights.sum()))}
    if "totalWeight" in call.shapes:
        total = weights.sum() if call["reduction"] != "ReductionNone" else 0.0
        answer["totalWeight"] = Expected(np.asarray(total), None, max(weights.size, 1))
        if call["reduction"] == "ReductionNone":
            del answer["totalWeight"]  # without a reduction nothing is added up
    return answer


@oracle("CrossEntropyLoss")
def _cross_entropy(call: Call) -> Answer:
    scores, count = _classes(call.wide("input"))
    logs = log_softmax(scores, 1)
    # The logarithm is the distance to the maximum, less another logarithm: its error follows their sizes.
    size = 1 + np.abs(logs)
    weights = _weights(call, count)
    along = weights.reshape(1, count, *(1,) * (scores.ndim - 2))
    smoothing = float(call["label_smoothing"])
    if call["target"].dtype.kind in "iu":
        target, counts = _targets(call)
        chosen = weights[target] * counts
        sharp = -_picked(logs, target) * chosen
        even = -(logs * along).sum(axis=1) / count * counts
        losses = (1 - smoothing) * sharp + smoothing * even
        scale = (1 - smoothing) * _picked(size, target) * chosen + smoothing * (size * along).sum(
            axis=1
        ) / count * counts
        shape = call.shapes["target"]
        return {"out": reduced(call, losses.reshape(shape), float(chosen.sum()), scale.reshape(shape))}
    chances = call.wide("target").reshape(scores.shape) * (1 - smoothing) + smoothing / count
    losses, scale = -(logs * chances * along).sum(axis=1), (size * np.abs(chances) * along).sum(axis=1)
    shape = losses.shape if call["input"].ndim > 1 else ()
    samples = float(losses.size)
    return {"out": reduced(call, losses.reshape(shape), samples, scale.reshape(shape))}
