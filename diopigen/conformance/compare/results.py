"""Whether a result is what the oracle expects.

Integers and bools must be equal, and a bool one byte of 0 or 1. A float may differ from the exact result `e` by

    bound = a * eps * |e| + b * eps * scale + tiny + own

where eps is the distance from 1 to the next number of the output's dtype (or of a less precise dtype that the operator
computes in), scale the size of the terms that were added up (|e| where the oracle gives none), own what the oracle
itself may be off by (`own_error`), and a, b and tiny follow from the operator's tolerance class:

    exact           bit for bit, the sign of zero included
    rounding        a = 1, b = 1; tiny is two of the smallest denormals
    transcendental  a = 2, b = 2 (float64: 4 and 4, as the oracle computes in it; halves: b = 8 * eps32 / eps, as they
                    are computed in float32); tiny is twice the smallest normal number, as vector libraries take
                    denormals for zero
    reduction       a = 1, b = (8 + 2 * sqrt(n)) * eps32 / eps for halves, which are added up in float32; n terms
    matmul, convolution   as reduction
    attention       as reduction, and c * narrowed with c = eps / 2, the largest relative error of one rounding to the
                    output's dtype, which is that of the operands
    approximate     a = b = 64 (halves: a = 1 and b = 64 * eps32 / eps)

The sum of n rounded terms is off by sqrt(n) roundings as a rule and by n at worst; the bound is between, and an error
in one term of the sum is far above it. NaN and infinities must be in the same places. Where the exact result lies
beyond the largest number, or the terms do, infinity is accepted as well as numbers within the bound.

`narrowed`, the sum of |p| |v| over the terms p v of a result, is what the class `attention` adds: matrix units multiply
operands of one dtype, so a kernel rounds the factor p, which it has computed in float32, to the dtype of v. Each term
is then off by at most eps / 2 of itself. The factors are at most 1, and fall below the normal numbers of float16: there
a rounding is off by eps / 2 of the smallest normal number, which the oracle adds to |p|. In gradients the factors are
the probabilities and the gradients of the scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import SMALLEST_NORMAL, Array, decode, encode, epsilon, widest
from diopigen.conformance.model import Fault
from diopigen.conformance.oracles import Expected
from diopigen.contract.dtypes import LARGEST, MANTISSA, kind, real_of


@dataclass(frozen=True, slots=True)
class Bound:
    """The numbers a, b and tiny of the module's formula, the two factors already multiplied by eps."""

    relative: float
    scaled: float
    tiny: float
    narrowed: float = 0.0
    """The factor c of what a kernel may round to the operands' dtype on its way."""

    def times(self, factor: float) -> Bound:
        """The bound widened by a factor."""
        return Bound(self.relative * factor, self.scaled * factor, self.tiny * factor, self.narrowed * factor)


_ROUNDINGS = 8
"""What is applied to a term before it is added up: a function, which NumPy's vector instructions evaluate to 4 units in
the last place at worst (8 roundings), or a few single operations."""


_NUMBERS = 4
"""Roundings of float64 in the numbers that Python computes before: 1 - momentum, a mean's divisor, a root's exponent.
The classes exact, rounding and transcendental have none."""


def own_error(expected: Expected, tolerance: str | None = None) -> Array:
    """How far the values of an oracle may be from the exact result, by element.

    An oracle evaluates the definition in the type of its values, with unit roundoff u: 2^-53 in float64, 2^-64 in the
    long double of x86 (2^-113 on ARM under Linux, 2^-53 where a system has no wider type). Each of n terms goes through
    at most k = n + 8 roundings (`_ROUNDINGS`), n - 1 of them in additions, in whatever order: NumPy adds in pairs, by
    vectors or one by one, as the processor and the layout have it. A product of k factors 1 + d with |d| <= u differs
    from 1 by at most gamma_k = k u / (1 - k u) (Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1). So

        |values - exact| <= gamma_k * scale,

    where scale is the sum of the sizes of the terms, or what errors of one unit in the operands make of it: |T^-1| |T|
    |X| of a triangular system, the condition of a decomposition. It is the scale, and the n, by which the library's
    roundings are measured as well. Where numbers of Python's take part, float64's roundings of those come on top
    (`_NUMBERS`). Integers have no such error.
    """
    values = np.asarray(expected.values)
    if values.dtype.kind not in "fc":
        return np.zeros(values.shape)
    unit = float(np.finfo(values.dtype).eps) / 2
    roundings = (expected.terms + _ROUNDINGS) * unit
    granted = roundings / (1 - roundings)
    if tolerance not in ("exact", "rounding", "transcendental"):
        granted += _NUMBERS * epsilon("float64") / 2
    return np.asarray(granted * _scale(np.abs(values), expected))


def bound_of(tolerance: str | None, dtype: str, terms: int = 1, precision: str | None = None) -> Bound:
    """The bound of a tolerance class for a floating or complex dtype."""
    real = real_of(precision or dtype)
    eps = epsilon(real)
    smallest = SMALLEST_NORMAL[real_of(dtype)]
    denormal = smallest * 2.0 ** (1 - MANTISSA[real_of(dtype)])
    if tolerance == "rounding":
        return Bound(eps, eps, 2 * denormal)
    is_half = real in ("float16", "bfloat16")
    inner = epsilon("float32") if is_half else eps
    if tolerance in ("reduction", "matmul", "convolution", "attention"):
        narrowed = eps / 2 if tolerance == "attention" else 0.0
        return Bound(eps, (8 + 2 * math.sqrt(terms)) * inner, smallest, narrowed)
    if tolerance == "approximate":
        return Bound(eps if is_half else 64 * eps, 64 * inner, smallest)
    if is_half:
        return Bound(2 * eps, 8 * inner, 2 * smallest)
    factor = 4 if real == "float64" else 2
    return Bound(factor * eps, factor * eps, 2 * smallest)


def compare(
    stored: Array, dtype: str, expected: Expected, tolerance: str | None, parameter: str, factor: float = 1.0
) -> Fault | None:
    """What is wrong with the elements of an output (in memory form), or None. `factor` widens the bound of floats. What
    is 0-d may have one dimension of size 1."""
    if stored.shape == (1,) and expected.values.shape == ():
        stored = stored.reshape(())
    if stored.shape != expected.values.shape:
        return Fault("shape", parameter, "wrong shape", str(expected.values.shape), str(stored.shape))
    if stored.size > _PART:
        return _by_parts(stored, dtype, expected, tolerance, parameter, factor)
    if stored.size == 0:
        return None
    wrong_byte = bool_byte(stored, dtype, parameter)
    if wrong_byte is not None:
        return wrong_byte
    actual = decode(stored, dtype)
    if kind(dtype) in ("bool", "int"):
        wrong = actual != expected.values
        return _fault("values", parameter, actual, expected.values, _counted(wrong, expected), None)
    if tolerance == "exact" and expected.precision is None and expected.scale is None:
        return _compare_exact(stored, dtype, expected, parameter)
    if kind(dtype) == "complex":
        return _compare_complex(actual, dtype, expected, tolerance, parameter, factor)
    return _compare_float(widest(actual), dtype, expected, tolerance, parameter, factor)


def bool_byte(stored: Array, dtype: str, parameter: str) -> Fault | None:
    """The first bool (in memory form) that is a byte other than 0 and 1, or None."""
    if dtype != "bool" or not np.any(stored > 1):
        return None
    index = int(np.argmax(stored.ravel() > 1))
    byte = str(int(stored.ravel()[index]))
    message = f"element {_index(index, stored.shape)}: a bool is 0 or 1"
    return Fault("bool byte", parameter, message, "0 or 1", byte)


_PART = 1 << 22
"""Elements that are compared at once: float64 copies of a large output would take many times its memory."""


def _by_parts(
    stored: Array, dtype: str, expected: Expected, tolerance: str | None, parameter: str, factor: float
) -> Fault | None:
    """As `compare`, part by part; the fault is that of the first part that has one."""
    flat, shape = stored.reshape(-1), stored.shape

    def part_of(array: Array | None, part: slice) -> Array | None:
        if array is None:
            return None
        full = array if array.shape == shape else np.broadcast_to(array, shape)
        return np.asarray(full.reshape(-1)[part])

    for start in range(0, stored.size, _PART):
        part = slice(start, start + _PART)
        values = part_of(expected.values, part)
        assert values is not None
        scale, free, or_nan = (part_of(array, part) for array in (expected.scale, expected.free, expected.or_nan))
        narrowed = part_of(expected.narrowed, part)
        some = replace(expected, values=values, scale=scale, free=free, or_nan=or_nan, narrowed=narrowed)
        fault = compare(flat[part], dtype, some, tolerance, parameter, factor)
        if fault is not None:
            position = f"elements {start} to {min(start + _PART, stored.size) - 1} of {list(shape)}, counted in a row"
            return replace(fault, message=f"{fault.message} ({position})")
    return None


def _compare_exact(stored: Array, dtype: str, expected: Expected, parameter: str) -> Fault | None:
    expected_values = decode(encode(expected.values, dtype), dtype)
    actual = decode(stored, dtype)
    wrong = ~((actual == expected_values) | (np.isnan(actual) & np.isnan(expected_values)))
    if kind(dtype) == "complex":
        wrong = ~(_same_part(actual.real, expected_values.real) & _same_part(actual.imag, expected_values.imag))
    elif expected.signed_zero:
        wrong |= (actual == 0) & (expected_values == 0) & (np.signbit(actual) != np.signbit(expected_values))
    return _fault("values", parameter, actual, expected_values, _counted(wrong, expected), None)


def _same_part(actual: Array, expected: Array) -> Array:
    return np.asarray((actual == expected) | (np.isnan(actual) & np.isnan(expected)))


def _counted(wrong: Array, expected: Expected) -> Array:
    return wrong if expected.free is None else wrong & ~expected.free


def _limits(values: Array, expected: Expected, bound: Bound, tolerance: str | None) -> Array:
    size = np.abs(values)
    library = bound.relative * size + bound.scaled * _scale(size, expected) + bound.tiny
    if expected.narrowed is not None:
        library = library + bound.narrowed * expected.narrowed
    return np.asarray(library + own_error(expected, tolerance))


def _scale(size: Array, expected: Expected) -> Array:
    return size if expected.scale is None else np.where(np.isfinite(expected.scale), expected.scale, size)


def _compare_float(
    actual: Array, dtype: str, expected: Expected, tolerance: str | None, parameter: str, factor: float
) -> Fault | None:
    bound = bound_of(tolerance, dtype, expected.terms, expected.precision).times(factor)
    expected_values = np.asarray(expected.values, dtype=np.result_type(expected.values, np.float64))
    largest = LARGEST[real_of(expected.precision or dtype)]
    with np.errstate(all="ignore"):
        limit = _limits(expected_values, expected, bound, tolerance)
        near = np.isfinite(expected_values) & (np.abs(actual - expected_values) <= limit)
        near |= (actual == expected_values) | (np.isnan(actual) & np.isnan(expected_values))
        if expected.or_nan is not None:
            near |= np.isnan(actual) & expected.or_nan
        # Beyond the largest number by less than the bound: rounding may fall on either side.
        edge = np.isfinite(expected_values) & (np.abs(expected_values) + limit > largest)
        near |= edge & np.isinf(actual) & (np.sign(actual) == np.sign(expected_values))
        near |= (
            edge
            & (np.abs(expected_values) > largest)
            & (actual == np.sign(expected_values) * largest)
            & (np.abs(expected_values) - limit <= largest)
        )
        if expected.scale is not None:
            near |= np.isfinite(expected_values) & (expected.scale > largest) & ~np.isfinite(actual)
        shown = decode(encode(expected_values, dtype), dtype)
    return _fault("values", parameter, actual, widest(shown), _counted(~near, expected), limit)


def _compare_complex(
    actual: Array, dtype: str, expected: Expected, tolerance: str | None, parameter: str, factor: float
) -> Fault | None:
    """Compared by the distance in the plane; a result that is not finite must only be not finite as well."""
    bound = bound_of(tolerance, dtype, expected.terms, expected.precision).times(factor)
    expected_values = np.asarray(expected.values, dtype=np.result_type(expected.values, np.complex128))
    with np.errstate(all="ignore"):
        limit = _limits(expected_values, expected, bound, tolerance)
        near = np.isfinite(expected_values) & (np.abs(actual.astype(expected_values.dtype) - expected_values) <= limit)
        too_large = ~np.isfinite(expected_values) | (np.abs(expected_values) > LARGEST[real_of(dtype)])
        near |= too_large & ~np.isfinite(actual)
    return _fault("values", parameter, actual, expected_values, _counted(~near, expected), limit)


def _index(index: int, shape: tuple[int, ...]) -> str:
    return str([int(i) for i in np.unravel_index(index, shape)])


def show(value: Any) -> str:
    """A number as text, with enough digits to tell it from its neighbours."""
    if isinstance(value, (np.longdouble, np.clongdouble)):
        return repr(complex(value) if isinstance(value, np.clongdouble) else float(value))
    item = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, (np.float16, np.float32)):
        return str(value)
    return repr(item)


def _fault(
    word: str, parameter: str, actual: Array, expected: Array, wrong: Array, limit: Array | None
) -> Fault | None:
    count = int(np.count_nonzero(wrong))
    if not count:
        return None
    flat = np.flatnonzero(wrong)
    index = int(flat[0])
    excess = ""
    if limit is not None:
        with np.errstate(all="ignore"):
            distance = np.abs(actual.ravel()[flat].astype(expected.dtype) - expected.ravel()[flat])
            ratio = np.where(np.isfinite(distance), distance / limit.ravel()[flat], np.inf)
        worst = int(np.argmax(ratio))
        index = int(flat[worst])
        if np.isfinite(distance[worst]):
            excess = f"off by {distance[worst]:.3g}, allowed {limit.ravel()[index]:.3g}"
    message = f"{count} of {actual.size} elements differ; worst {_index(index, actual.shape)}"
    message += f": {excess}" if excess else ""
    return Fault(word, parameter, message, show(expected.ravel()[index]), show(actual.ravel()[index]))
