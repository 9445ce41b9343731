"""Random operators: no oracle knows their numbers, but their distributions. Small samples must keep their range."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from diopigen.conformance.dtypes import STORAGE, Array
from diopigen.conformance.oracles import Answer, Call, Expected, Property, oracle
from diopigen.contract.dtypes import LARGEST, MANTISSA, kind, real_of

_ENOUGH = 1000
_SIGMAS = 5.5
_ALIKE = 8.0
"""Standard errors of the largest of ten thousand correlations: exceeded once in 10^11 samples."""
_TAILS = (0.005, 0.02)
"""Shares of the sample whose position is checked, on either side."""
_FEW = 20
_KOLMOGOROV = 2.6
"""Largest distance between distribution functions times the root of the sample size: exceeded once in 370,000."""


def mean_is(sample: Array, mean: float, deviation: float) -> str | None:
    """Returns whether the mean of a large sample is where it must."""
    if sample.size < _ENOUGH:
        return None
    off = abs(float(sample.mean()) - mean) / max(deviation / math.sqrt(sample.size), 1e-300)
    if off > _SIGMAS:
        return f"the mean of {sample.size} numbers is {sample.mean():.6g}, {off:.1f} standard errors from {mean:.6g}"
    return None


def follows(sample: Array, distribution: Callable[[Array], Array], slack: float = 0.0) -> str | None:
    """Returns whether a large sample follows a continuous distribution function (Kolmogorov's test), in the tails as
    well."""
    if sample.size < _ENOUGH:
        return None
    ordered = np.sort(sample.ravel())
    expected = distribution(ordered)
    for share in _TAILS:
        if share * sample.size < _FEW or share < 8 * slack:
            continue
        for side, count in (("below", expected < share), ("above", expected > 1 - share)):
            found, spread = int(count.sum()), math.sqrt(share * (1 - share) * sample.size)
            if abs(found - share * sample.size) > _SIGMAS * spread + slack * sample.size:
                return f"{found} of {sample.size} numbers lie {side} the outermost {share:.1%} of the distribution"
    above = np.arange(1, sample.size + 1) / sample.size - expected
    below = expected - np.arange(sample.size) / sample.size
    distance = float(max(above.max(), below.max())) - slack
    if distance * math.sqrt(sample.size) > _KOLMOGOROV:
        return f"{sample.size} numbers do not follow the distribution: its function is missed by {distance:.4f}"
    return None


def independent(sample: Array, mean: Array | float, deviation: Array | float) -> str | None:
    """Returns whether the numbers of a large sample go their own way: no distance at which one follows another.

    The means of the products of all pairs at a distance are near zero; they come from one Fourier transform.
    """
    if sample.size < _ENOUGH:
        return None
    scaled = ((sample - mean) / deviation).ravel()
    count = scaled.size
    transformed = np.fft.rfft(scaled, 2 * count)
    sums = np.fft.irfft(np.abs(transformed) ** 2)[1 : count - _ENOUGH // 2]
    excess = np.abs(sums) / np.sqrt(np.arange(count - 1, count - 1 - sums.size, -1))
    distance = int(np.argmax(excess)) + 1
    if excess[distance - 1] > _ALIKE:
        return f"numbers that lie {distance} apart are alike: {excess[distance - 1]:.1f} standard errors"
    return None


@oracle("UniformInp")
def _uniform(call: Call) -> Answer:
    low, high = float(call["from"]), float(call["to"])
    # Rounding to a narrow dtype makes steps in the distribution function. It must not reach the upper end: users of
    # [0, 1) index with these numbers, and take logarithms of the distance to 1.
    step = 2.0 ** (1 - MANTISSA[call.dtype("inout")])

    def check(sample: Array) -> str | None:
        numbers = sample.astype(np.float64)
        slack = step * max(abs(low), abs(high))
        is_above = numbers.size and (numbers.max() >= high if high > low else numbers.max() > high + slack)
        if numbers.size and (numbers.min() < low - slack or is_above):
            return f"numbers from {numbers.min():.6g} to {numbers.max():.6g} leave the range [{low:.6g}, {high:.6g})"
        if high == low:
            return None
        # Half a step of rounding, and as much again where what is rounded to the open end becomes the lower one.
        return follows(numbers, lambda x: (x - low) / (high - low), slack / (high - low)) or independent(
            numbers, (low + high) / 2, (high - low) / math.sqrt(12)
        )

    return {"inout": Property(check, varies=high > low)}


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
        mean, deviation = (low + top - 1) / 2, math.sqrt((count * count - 1) / 12)
        return mean_is(numbers, mean, deviation) or (independent(numbers, mean, deviation) if deviation else None)

    return {"inout": Property(check, varies=top > low + 1)}


def _coins(chance: Array | float) -> Property:
    def check(sample: Array) -> str | None:
        numbers = sample.astype(np.float64)
        if np.any((numbers != 0) & (numbers != 1)):
            return "there are numbers other than 0 and 1"
        expected = np.broadcast_to(np.asarray(chance, dtype=np.float64), numbers.shape)
        if np.any((expected == 0) & (numbers == 1)) or np.any((expected == 1) & (numbers == 0)):
            return "a chance of 0 or 1 is not kept"
        deviation = math.sqrt(float((expected * (1 - expected)).mean())) if numbers.size else 0.0
        found = mean_is(numbers, float(expected.mean()), deviation) if deviation else None
        # A coin that falls seldom has too few pairs for their sums to be normal.
        fair = (expected >= 0.1) & (expected <= 0.9)
        chances = expected[fair]
        return found or independent(numbers[fair], chances, np.sqrt(chances * (1 - chances)))

    chances = np.asarray(chance, dtype=np.float64)
    return Property(check, varies=bool(np.any((chances > 0) & (chances < 1))))


@oracle("BernoulliScalar")
def _bernoulli_scalar(call: Call) -> Answer:
    return {"out": _coins(float(call["p"]))}


@oracle("Bernoulli")
def _bernoulli(call: Call) -> Answer:
    return {"out": _coins(call.wide("input"))}


@oracle("BernoulliInp")
def _bernoulli_inplace(call: Call) -> Answer:
    return {"inout": _coins(call.wide("inout"))}


def _dropout(call: Call, output: str) -> Answer:
    chance, x = float(call["p"]), call.wide("input")
    if not call["train"]:
        all_retained = Expected(np.ones(call.shapes["mask"], dtype=bool)) if call.has("mask") else None
        return {output: Expected(x), "mask": all_retained}
    retained = _coins(1 - chance)
    # 1 / (1 - p), rounded, and the product with it.
    precision = 4 * 2.0 ** -MANTISSA[call.dtype(output)]

    def check(sample: Array, mask: Array) -> str | None:
        requested = np.where(mask, x / (1 - chance) if chance < 1 else 0.0, 0.0)
        wrong = np.abs(sample.astype(np.float64) - requested) > precision * np.abs(requested) + 1e-7
        if np.any(wrong):
            position = int(np.flatnonzero(wrong)[0])
            return (
                f"element {position} is {sample.ravel()[position]:.6g} instead of {requested.ravel()[position]:.6g}: "
                f"not the input over 1 - p where the mask holds, and zero elsewhere"
            )
        return None

    varies = retained.varies and bool(np.any(x))
    if call.has("mask"):
        return {output: Property(check, ("mask",), varies), "mask": retained}

    def check_alone(sample: Array) -> str | None:
        """Without a mask the elements tell themselves which of them are kept, but for inputs of zero."""
        found = sample != 0
        return retained.check(found[x != 0]) or check(sample, found)

    return {output: Property(check_alone, (), varies), "mask": None}


@oracle("Dropout")
def _dropout_out(call: Call) -> Answer:
    return _dropout(call, "out")


@oracle("DropoutInp")
def _dropout_inplace(call: Call) -> Answer:
    return _dropout(call, "input")


@oracle("Randperm")
def _randperm(call: Call) -> Answer:
    count = int(call["n"])

    def check(sample: Array) -> str | None:
        numbers = sample.astype(np.float64)
        if not np.array_equal(np.sort(numbers), np.arange(count)):
            return f"the numbers are not those below {count}, each once"
        # The rank correlation of a random order has the deviation 1 / sqrt(n - 1).
        if count >= 50:
            middle = (count - 1) / 2
            sizes = (np.arange(count) - middle) ** 2
            correlation = float(((numbers - middle) * (np.arange(count) - middle)).sum() / sizes.sum())
            if abs(correlation) * math.sqrt(count - 1) > _SIGMAS:
                return f"the order is not random: its rank correlation with the sorted one is {correlation:.3f}"
        return None

    return {"out": Property(check, varies=count >= 50)}


def _gauss(x: Array) -> Array:
    """The distribution function of the normal distribution."""
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in x])


def _bell(mean: Array, std: Array, dtype: str) -> Property:
    """Normal draws of the means and deviations."""
    step = 2.0 ** (1 - MANTISSA[dtype])

    def check(sample: Array) -> str | None:
        numbers = sample.astype(np.float64)
        middle, deviation = np.broadcast_to(mean, numbers.shape), np.broadcast_to(std, numbers.shape)
        still = deviation == 0
        if np.any(np.abs(numbers - middle)[still] > step * np.abs(middle)[still]):
            return "a draw with no deviation is not its mean"
        if not np.all(np.isfinite(numbers)):
            return "there are draws that are not finite"
        moving = ((numbers - middle) / np.where(still, 1, deviation))[~still]
        if moving.size and np.abs(moving).max() > 9:
            return f"a draw lies {np.abs(moving).max():.1f} deviations from its mean"
        # Rounding to a narrow dtype makes steps in the distribution function.
        largest = float(np.max((np.abs(middle) + 4 * deviation)[~still] / deviation[~still], initial=0.0))
        found = mean_is(moving, 0, 1 + step * largest) or follows(moving, _gauss, step * largest)
        return found or independent(moving, 0, 1 + step * largest)

    return Property(check, varies=bool(np.any(std > 0)))


def _complex_bell(mean: float, std: float, dtype: str) -> Property:
    """Each part has half of the variance, the real one the mean; the parts do not depend on each other."""
    real = real_of(dtype)
    part = np.asarray(std / math.sqrt(2))
    parts = (_bell(np.asarray(mean), part, real), _bell(np.zeros(()), part, real))

    def check(sample: Array) -> str | None:
        found = parts[0].check(sample.real) or parts[1].check(sample.imag)
        if found is None and sample.size >= _ENOUGH and std > 0:
            product = ((sample.real - mean) * sample.imag).astype(np.float64)
            found = mean_is(product, 0, float(std * std / 2))
        return found

    return Property(check, varies=std > 0)


@oracle("Normal", "NormalInp", "NormalTensorScalar", "NormalScalarTensor", "NormalTensor")
def _normal(call: Call) -> Answer:
    dtype = call.dtype(call.target)
    mean, std = np.asarray(call["mean"]), np.asarray(call["std"])
    if kind(dtype) == "complex":
        return {call.target: _complex_bell(float(mean), float(std), dtype)}
    return {call.target: _bell(mean.astype(np.float64), std.astype(np.float64), dtype)}


@oracle("Multinomial")
def _multinomial(call: Call) -> Answer:
    weights = np.atleast_2d(call.wide("input"))
    chances = weights / weights.sum(axis=1, keepdims=True)

    def check(sample: Array) -> str | None:
        rows = np.atleast_2d(sample)
        if rows.size and (rows.min() < 0 or rows.max() >= weights.shape[1]):
            return f"there are categories outside of 0 to {weights.shape[1] - 1}"
        if np.any(np.take_along_axis(weights, rows, axis=1) == 0):
            return "a category without weight is drawn"
        if not call["replacement"] and any(len(set(row)) < row.size for row in rows):
            return "a category is drawn twice without replacement"
        # The first draw of each row follows the weights, and every draw does with replacement.
        drawn = rows if call["replacement"] else rows[:, :1]
        for category in range(weights.shape[1]):
            chance = np.broadcast_to(chances[:, category : category + 1], drawn.shape)
            spread = math.sqrt(float((chance * (1 - chance)).sum()))
            count = int((drawn == category).sum())
            if drawn.size >= 50 and spread and abs(count - float(chance.sum())) > _SIGMAS * spread:
                return f"category {category} is drawn {count} times instead of about {float(chance.sum()):.0f}"
        return None

    draws = math.prod(call.shapes["out"])
    return {"out": Property(check, varies=draws >= 50 and bool(np.any((chances > 0.01) & (chances < 0.99))))}
