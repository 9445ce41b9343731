"""The bound of a float by tolerance class and dtype: the one table that all comparisons use.

`conformance/compare/bounds.py` derives it and compares with exact results. `emit/tolerance` writes it out for C++,
where results of two libraries are compared: both may be off by the bound, so that they may differ by twice as much.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

from diopigen.contract.dtypes import FLOAT8, MANTISSA, SMALLEST_NORMAL, real_of
from diopigen.ir.load import known_dtypes

MULTIPLYING = frozenset({"matmul", "convolution", "attention"})
"""Tolerance classes whose terms are products of operands."""
ACCUMULATING = MULTIPLYING | {"reduction"}
"""Tolerance classes that add up terms."""
ELEMENTWISE = frozenset({"rounding", "transcendental", "approximate"})
"""Tolerance classes in which a result depends on a fixed number of operations."""
HALVES = frozenset(name for name, info in known_dtypes().items() if info.kind == "floating" and info.compute != name)
"""Dtypes whose elements are computed in float32."""
ROUNDINGS = 8
"""Roundings of the function that is applied to a term before the sum: NumPy's vector instructions evaluate functions to
4 units in the last place at worst (8 roundings)."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The numbers a, b and tiny of `compare/bounds.py`, the two factors already multiplied by eps."""

    relative: float
    scaled: float
    tiny: float
    narrowed: float = 0.0
    """The factor c of what a kernel may round to the operands' dtype on its way."""
    units: float = 0.0
    """Units in the last place of the larger of |e| and scale."""

    def times(self, factor: float) -> Bound:
        """The bound widened by a factor."""
        return Bound(*(value * factor for value in astuple(self)))


def epsilon(dtype: str) -> float:
    """Distance from 1 to the next number of a floating or complex dtype."""
    return float(2.0 ** (1 - MANTISSA[real_of(dtype)]))


def inner_epsilon(real: str) -> float:
    """The distance from 1 to the next number of the accumulate type."""
    return epsilon("float32") if real in HALVES else epsilon(real)


def class_bound(tolerance: str | None, dtype: str, terms: int, precision: str | None = None) -> Bound:
    """The bound of a class for a floating or complex dtype, or for a less precise one that the operator computes in."""
    real = real_of(precision or dtype)
    eps, inner = epsilon(real), inner_epsilon(real)
    smallest = SMALLEST_NORMAL[real_of(dtype)]
    denormal = smallest * 2.0 ** (1 - MANTISSA[real_of(dtype)])
    if tolerance == "rounding" and real in FLOAT8:
        return Bound(
            eps / 2, ROUNDINGS * inner, denormal / 2
        )  # one rounding: a whole step is a number with another meaning
    if tolerance == "rounding":
        return Bound(eps, eps, 2 * denormal)
    if tolerance in ACCUMULATING:
        narrowed = eps / 2 if tolerance == "attention" else 0.0
        return Bound(eps, (ROUNDINGS + 2 * math.sqrt(terms)) * inner, smallest, narrowed)
    if tolerance == "approximate":
        return Bound(eps if real in HALVES else 64 * eps, 64 * inner, smallest)
    if real in HALVES:
        return Bound(2 * eps, 8 * inner, 2 * smallest)
    factor = 4 if real == "float64" else 2
    return Bound(factor * eps, factor * eps, 2 * smallest)
