"""Random operators: no oracle knows their numbers, but the laws that they obey. Small samples must keep their range."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from diopigen.conformance.dtypes import LARGEST, MANTISSA, STORAGE, Array, kind
from diopigen.conformance.oracles import Answer, Call, Law, oracle

_ENOUGH = 1000
_SIGMAS = 5.5
_KOLMOGOROV = 2.6
"""Largest distance between distribution functions times the root of the sample size: exceeded once in 370,000."""


def mean_is(sample: Array, mean: float, deviation: float) -> str | None:
    """Whether the mean of a large sample lies where it must."""
    if sample.size < _ENOUGH:
        return None
    off = abs(float(sample.mean()) - mean) / max(deviation / math.sqrt(sample.size), 1e-300)
    if off > _SIGMAS:
        return f"the mean of {sample.size} numbers is {sample.mean():.6g}, {off:.1f} standard errors from {mean:.6g}"
    return None


def follows(sample: Array, distribution: Callable[[Array], Array], slack: float = 0.0) -> str | None:
    """Whether a large sample follows a continuous distribution function (Kolmogorov's test)."""
    if sample.size < _ENOUGH:
        return None
    ordered = np.sort(sample.ravel())
    expected = distribution(ordered)
    above = np.arange(1, sample.size + 1) / sample.size - expected
    below = expected - np.arange(sample.size) / sample.size
    distance = float(max(above.max(), below.max())) - slack
    if distance * math.sqrt(sample.size) > _KOLMOGOROV:
        return f"{sample.size} numbers do not follow the distribution: its function is missed by {distance:.4f}"
    return None


@oracle("UniformInp")
def _uniform(call: Call) -> Answer:
    low, high = float(call["from"]), float(call["to"])
    # Rounding to a narrow dtype may reach the open end, and makes steps in the distribution function.
    step = 2.0 ** (1 - MANTISSA[call.dtype("inout")])

    def check(sample: Array) -> str | None:
        numbers = sample.astype(np.float64)
        slack = step * max(abs(low), abs(high))
        if numbers.size and (numbers.min() < low - slack or numbers.max() > high + slack):
            return f"numbers from {numbers.min():.6g} to {numbers.max():.6g} leave the range [{low:.6g}, {high:.6g})"
        if high == low:
            return None
        return follows(numbers, lambda x: (x - low) / (high - low), step)

    return {"inout": Law(check)}


@oracle("RandomInp")
def _random(call: Call) -> Answer:
    dtype = call.dtype("inout")
    low, high = int(call["from"]), call["to"]
    if high is not None:
        top = int(high)
    elif kind(dtype) == "float":
        top = 2 ** MANTISSA[dtype] + 1
    else:
        top = 2 if dtype == "bool" else int(np.iinfo(STORAGE[dtype]).max) + 1

    def check(sample: Array) -> str | None:
        numbers = sample.astype(np.float64)
        if numbers.size and (numbers.min() < low or numbers.max() > min(top - 1, LARGEST.get(dtype, math.inf))):
            return f"numbers from {numbers.min():.6g} to {numbers.max():.6g} leave the range [{low}, {top})"
        if np.any(numbers != np.trunc(numbers)):
            return "there are numbers that are not whole"
        count = float(top - low)
        return mean_is(numbers, (low + top - 1) / 2, math.sqrt((count * count - 1) / 12))

    return {"inout": Law(check)}


def _coins(chance: Array | float) -> Law:
    def check(sample: Array) -> str | None:
        numbers = sample.astype(np.float64)
        if np.any((numbers != 0) & (numbers != 1)):
            return "there are numbers other than 0 and 1"
        expected = np.broadcast_to(np.asarray(chance, dtype=np.float64), numbers.shape)
        if np.any((expected == 0) & (numbers == 1)) or np.any((expected == 1) & (numbers == 0)):
            return "a chance of 0 or 1 is not kept"
        deviation = math.sqrt(float((expected * (1 - expected)).mean())) if numbers.size else 0.0
        return mean_is(numbers, float(expected.mean()), deviation) if deviation else None

    return Law(check)


@oracle("BernoulliScalar")
def _bernoulli_scalar(call: Call) -> Answer:
    return {"out": _coins(float(call["p"]))}


@oracle("Bernoulli")
def _bernoulli(call: Call) -> Answer:
    return {"out": _coins(call.wide("input"))}


@oracle("BernoulliInp")
def _bernoulli_inplace(call: Call) -> Answer:
    return {"inout": _coins(call.wide("inout"))}
