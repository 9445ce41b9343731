"""Errors in units in the last place (docs/conformance.md says how they are defined and what they leave out)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from diopigen.conformance.dtypes import Array, decode, widest
from diopigen.conformance.model import Measured
from diopigen.conformance.oracles import Expected
from diopigen.contract.dtypes import LARGEST, MANTISSA, SMALLEST_NORMAL, kind, real_of


def unit(values: Array, dtype: str) -> Array:
    """The unit in the last place of a floating dtype at numbers: for 2^e <= |x| < 2^(e+1) it is 2^(e-p+1), p the bits
    of the significand, and below the normal numbers the distance of denormals (Goldberg's definition, extended to reals
    as in Muller et al., Handbook of Floating-Point Arithmetic, 2.3.1)."""
    real = real_of(dtype)
    size = np.maximum(np.abs(values), SMALLEST_NORMAL[real])
    _, exponents = np.frexp(size)
    return np.asarray(np.ldexp(np.ones_like(size), exponents - MANTISSA[real]))


_PART = 1 << 20
"""Elements that are measured at once."""


def measure(stored: Array, dtype: str, expected: Expected) -> Measured | None:
    """The errors of the elements of an output in memory form; None where none can be measured."""
    if kind(dtype) not in ("float", "complex") or expected.values.dtype.kind not in "fc":
        return None
    exact, free = expected.values.reshape(-1), None
    if expected.free is not None:
        free = np.broadcast_to(expected.free, expected.values.shape).reshape(-1)
    actual = stored.reshape(-1)
    if actual.size != exact.size:
        return None
    if actual.size <= _PART:
        return _measured(actual, dtype, exact, free)
    found = []
    for start in range(0, actual.size, _PART):
        part = slice(start, start + _PART)
        one = _measured(actual[part], dtype, exact[part], None if free is None else free[part])
        if one is not None:
            found.append(one)
    return next(iter(combined(found)), None)


def _measured(stored: Array, dtype: str, exact: Array, free: Array | None) -> Measured | None:
    real = real_of(dtype)
    actual = widest(decode(stored, dtype))
    size = np.abs(exact)
    with np.errstate(all="ignore"):
        errors = np.abs(actual - exact)
    counted = (size >= SMALLEST_NORMAL[real]) & (size <= LARGEST[real]) & np.isfinite(errors)
    if free is not None:
        counted &= ~free
    if not counted.all():
        errors, size = errors[counted], size[counted]
    if not errors.size:
        return None
    errors = np.ldexp(errors, MANTISSA[real] - np.frexp(size)[1])  # over `unit`, which is a power of two
    return Measured(dtype, float(errors.max()), float(errors.mean()), int(errors.size))


def combined(measured: Iterable[Measured]) -> list[Measured]:
    """Measurements of one dtype as one each, in order of first use; those of converted calls on their own."""
    groups: dict[tuple[str, str], list[Measured]] = {}
    for one in measured:
        groups.setdefault((one.dtype, one.converted), []).append(one)
    found = []
    for (dtype, converted), members in groups.items():
        elements = sum(one.elements for one in members)
        mean = sum(one.mean * one.elements for one in members) / elements
        found.append(Measured(dtype, max(one.worst for one in members), mean, elements, converted))
    return found
