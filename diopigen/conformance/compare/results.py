"""True if a result is what the oracle expects.

Integers and bools must be equal, and a bool one byte of 0 or 1. A float may differ from the exact result by the bound
of `compare.bounds`. NaN and infinities must be at the same positions. Where the exact result rounds to infinity, or the
size of its terms exceeds the largest number, infinity is accepted as well as numbers within the bound.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from diopigen.chip.accuracy import Accuracy
from diopigen.conformance.compare.bounds import bound_of, limits
from diopigen.conformance.compare.ulp import unit
from diopigen.conformance.dtypes import Array, decode, encode, widest
from diopigen.conformance.model import Fault
from diopigen.conformance.oracles import Expected
from diopigen.contract.dtypes import LARGEST, SMALLEST_NORMAL, kind, real_of
from diopigen.contract.tolerance import Bound


def compare(
    stored: Array,
    dtype: str,
    expected: Expected,
    tolerance: str | None,
    parameter: str,
    factor: float = 1.0,
    accuracy: Accuracy | None = None,
) -> Fault | None:
    """Describes the error of an output (in memory form), or None. `factor` widens the bound of floats, `accuracy` is
    what a chip declares of them. What is 0-d may have one dimension of size 1."""
    if stored.shape == (1,) and expected.values.shape == ():
        stored = stored.reshape(())
    if stored.shape != expected.values.shape:
        return Fault("shape", parameter, "wrong shape", str(expected.values.shape), str(stored.shape))
    if stored.size > _PART:
        return _by_parts(stored, dtype, expected, tolerance, parameter, factor, accuracy)
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
        return _compare_exact(stored, dtype, expected, parameter, flush=accuracy is not None and accuracy.flush)
    bound = bound_of(tolerance, dtype, expected.terms, expected.precision, accuracy).times(factor)
    if kind(dtype) == "complex":
        return _compare_complex(actual, dtype, expected, tolerance, parameter, bound)
    narrow = accuracy.accumulate if accuracy is not None and expected.scale is not None else None
    return _compare_float(widest(actual), dtype, expected, tolerance, parameter, bound, narrow)


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
    stored: Array,
    dtype: str,
    expected: Expected,
    tolerance: str | None,
    parameter: str,
    factor: float,
    accuracy: Accuracy | None,
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
        fault = compare(flat[part], dtype, some, tolerance, parameter, factor, accuracy)
        if fault is not None:
            position = f"elements {start} to {min(start + _PART, stored.size) - 1} of {list(shape)}, counted in a row"
            return replace(fault, message=f"{fault.message} ({position})")
    return None


def _compare_exact(
    stored: Array, dtype: str, expected: Expected, parameter: str, *, flush: bool = False
) -> Fault | None:
    expected_values = decode(encode(expected.values, dtype), dtype)
    actual = decode(stored, dtype)
    wrong = ~((actual == expected_values) | (np.isnan(actual) & np.isnan(expected_values)))
    if kind(dtype) == "complex":
        wrong = ~(_same_part(actual.real, expected_values.real) & _same_part(actual.imag, expected_values.imag))
    elif expected.signed_zero:
        wrong |= (actual == 0) & (expected_values == 0) & (np.signbit(actual) != np.signbit(expected_values))
    if flush:
        wrong &= ~((actual == 0) & (np.abs(expected_values) < SMALLEST_NORMAL[real_of(dtype)]))
    return _fault("values", parameter, actual, expected_values, _counted(wrong, expected), None)


def _same_part(actual: Array, expected: Array) -> Array:
    return np.asarray((actual == expected) | (np.isnan(actual) & np.isnan(expected)))


def _counted(wrong: Array, expected: Expected) -> Array:
    return wrong if expected.free is None else wrong & ~expected.free


def _compare_float(
    actual: Array,
    dtype: str,
    expected: Expected,
    tolerance: str | None,
    parameter: str,
    bound: Bound,
    narrow: str | None,
) -> Fault | None:
    """`narrow` is the dtype of sums that a chip declares, which may overflow before the result's dtype does."""
    expected_values = np.asarray(expected.values, dtype=np.result_type(expected.values, np.float64))
    precision = expected.precision or dtype
    largest = LARGEST[real_of(precision)]
    with np.errstate(all="ignore"):
        limit = limits(expected_values, dtype, expected, bound, tolerance)
        near = np.isfinite(expected_values) & (np.abs(actual - expected_values) <= limit)
        near |= (actual == expected_values) | (np.isnan(actual) & np.isnan(expected_values))
        if expected.or_nan is not None:
            near |= np.isnan(actual) & expected.or_nan
        overflows = np.isfinite(expected_values) & _rounds_to_infinity(expected_values, precision)
        near |= overflows & np.isinf(actual) & (np.sign(actual) == np.sign(expected_values))
        # Beyond the largest number by less than the bound, so that a smaller result rounds to it.
        near |= (
            overflows & (actual == np.sign(expected_values) * largest) & (np.abs(expected_values) - limit <= largest)
        )
        if expected.scale is not None:
            reach = largest if narrow is None else min(largest, LARGEST[narrow])
            near |= np.isfinite(expected_values) & (expected.scale > reach) & ~np.isfinite(actual)
        shown = decode(encode(expected_values, dtype), dtype)
    return _fault("values", parameter, actual, widest(shown), _counted(~near, expected), limit)


def _compare_complex(
    actual: Array, dtype: str, expected: Expected, tolerance: str | None, parameter: str, bound: Bound
) -> Fault | None:
    """Compared by the distance in the plane; a result that is not finite must only be not finite as well."""
    expected_values = np.asarray(expected.values, dtype=np.result_type(expected.values, np.complex128))
    with np.errstate(all="ignore"):
        limit = limits(expected_values, dtype, expected, bound, tolerance)
        near = np.isfinite(expected_values) & (np.abs(actual.astype(expected_values.dtype) - expected_values) <= limit)
        too_large = ~np.isfinite(expected_values)
        for part in (expected_values.real, expected_values.imag):
            too_large |= _rounds_to_infinity(part, dtype)
        if expected.scale is not None:
            too_large |= expected.scale > LARGEST[real_of(dtype)]
        near |= too_large & ~np.isfinite(actual)
    return _fault("values", parameter, actual, expected_values, _counted(~near, expected), limit)


def _rounds_to_infinity(exact: Array, dtype: str) -> Array:
    """Returns whether exact results round to an infinity of a dtype: from half a unit in the last place beyond its
    largest number on, where rounding to nearest overflows (IEEE 754-2019, 4.3.1)."""
    real = real_of(dtype)
    largest = np.asarray(LARGEST[real], dtype=exact.dtype)
    return np.asarray(np.abs(exact) >= largest + unit(largest, real) / 2)


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
