"""Error bounds of floats relative to the exact result `e`:

    bound = a * eps * |e| + b * eps * scale + tiny + own

where eps is the distance from 1 to the next number of the output's dtype (or of a less precise dtype that the operator
computes in), scale the size of the terms that were added up (|e| where the oracle gives none), own what the oracle
itself may be off by (`own_error`), and a, b and tiny follow from the operator's tolerance class:

    exact           bit for bit, the sign of zero included
    rounding        a = 1, b = 1; tiny is two of the smallest denormals (numbers of one byte: a = 1 / 2, b = 8 * eps32 /
                    eps, and tiny is half a denormal, so that the rounding to the dtype is the only one)
    transcendental  a = 2, b = 2 (float64: 4 and 4, as the oracle computes in it; halves: b = 8 * eps32 / eps, as they
                    are computed in float32); tiny is twice the smallest normal number, as vector libraries take
                    denormals for zero
    reduction       a = 1, b = (8 + 2 * sqrt(n)) * eps32 / eps for halves, which are added up in float32; n terms
    matmul, convolution   as reduction
    attention       as reduction, and c * narrowed with c = eps / 2, the largest relative error of one rounding to the
                    output's dtype, which is that of the operands
    approximate     a = b = 64 (halves: a = 1 and b = 64 * eps32 / eps)

The sum of n rounded terms is off by sqrt(n) roundings as a rule and by n at worst; the bound is between, and an error
in one term of the sum is far above it.

`narrowed`, the sum of |p| |v| over the terms p v of a result, is what the class `attention` adds: matrix units multiply
operands of one dtype, so a kernel rounds the factor p, which it has computed in float32, to the dtype of v. Each term
is then off by at most eps / 2 of itself. The factors are at most 1, and fall below the normal numbers of float16: there
a rounding is off by eps / 2 of the smallest normal number, which the oracle adds to |p|. In gradients the factors are
the probabilities and the gradients of the scores. In fused layers (`oracles/serving_layers.py`) they are what one step
hands to the next: `narrowed` is then the sum of how much a relative error of 1 in each of them changes the result.

A chip may declare its accuracy (chip/accuracy.py), which takes the place of parts of the bound:

    ulp: k           rounding, transcendental, approximate: the bound is k units in the last place (`ulp.unit`) of the
                     larger of |e| and scale, and own. Classes that add up: k stands for the 8 roundings of a term and
                     for the one rounding of the result, in eps of the output's dtype
    elementary: k    each call of the function in a kernel is off by k units of its value, which reach the result as
                     scale says: k * eps * scale for each call, on top of the class
    accumulate: t    2 * sqrt(n) * eps(t) for the sum where t is as precise as the usual type. In a narrower one a
                     partial sum that has grown swallows terms, so that the worst case counts: n roundings, to nearest
                     or towards zero, of eps(t) each (Higham, Accuracy and Stability of Numerical Algorithms, 4.2), and
                     the 8 of a term
    product_bits: p  both factors of a term are rounded to p bits, to nearest or towards zero, by 2^(1-p) each:
                     2 * 2^(1-p) * scale
    flush_denormals  tiny is a smallest normal number more, for each term one. That operands are read as zero is left
                     to the caller, who asks the oracle again (run/execute.py)
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from diopigen.chip.accuracy import Accuracy
from diopigen.conformance.compare.ulp import unit
from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Expected
from diopigen.contract.dtypes import MANTISSA, SMALLEST_NORMAL, real_of
from diopigen.contract.tolerance import ACCUMULATING, ROUNDINGS, Bound, class_bound, epsilon, inner_epsilon

_NUMBERS = 4
"""Roundings of float64 in the numbers that Python computes before: 1 - momentum, a mean's divisor, a root's exponent.
The classes exact, rounding and transcendental have none."""


def own_error(expected: Expected, tolerance: str | None = None) -> Array:
    """Error bound of the values of an oracle, by element.

    An oracle evaluates the definition in the type of its values, with unit roundoff u: 2^-53 in float64, 2^-64 in the
    long double of x86 (2^-113 on ARM under Linux, 2^-53 where a system has no wider type). Each of n terms goes through
    at most k = n + 8 roundings (`ROUNDINGS`), n - 1 of them in additions, in whatever order: NumPy adds in pairs, by
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
    roundings = (expected.terms + ROUNDINGS) * unit
    granted = roundings / (1 - roundings)
    if tolerance not in ("exact", "rounding", "transcendental"):
        granted += _NUMBERS * epsilon("float64") / 2
    return np.asarray(granted * _scale(np.abs(values), expected))


def bound_of(
    tolerance: str | None,
    dtype: str,
    terms: int = 1,
    precision: str | None = None,
    accuracy: Accuracy | None = None,
) -> Bound:
    """The bound of a tolerance class for a floating or complex dtype, and for what a chip declares."""
    real = real_of(precision or dtype)
    usual = class_bound(tolerance, dtype, terms, precision)
    return usual if accuracy is None else _declared(usual, tolerance, dtype, real, terms, accuracy)


def _declared(usual: Bound, tolerance: str | None, dtype: str, real: str, terms: int, accuracy: Accuracy) -> Bound:
    """The bound of a class with what is declared in the place of its parts."""
    eps, inner = epsilon(real), inner_epsilon(real)
    found = usual
    if tolerance in ACCUMULATING:
        of_term = ROUNDINGS * inner if accuracy.ulp is None else accuracy.ulp * eps
        of_sum = 2 * math.sqrt(terms) * inner
        if accuracy.accumulate is not None:
            step = epsilon(accuracy.accumulate)
            of_sum = 2 * math.sqrt(terms) * step if step <= inner else (ROUNDINGS + terms) * step
        products = 0.0
        if accuracy.product_bits is not None and accuracy.product_bits < MANTISSA[real]:
            products = 2 * 2.0 ** (1 - accuracy.product_bits)
        of_result = usual.relative if accuracy.ulp is None else accuracy.ulp * eps
        found = replace(usual, relative=of_result, scaled=of_term + of_sum + products)
    elif accuracy.ulp is not None:
        found = Bound(0.0, 0.0, 0.0, units=accuracy.ulp)
    if accuracy.elementary:
        found = replace(found, scaled=found.scaled + accuracy.elementary * eps)
    if accuracy.flush:
        several = terms if tolerance in ACCUMULATING else 1
        found = replace(found, tiny=found.tiny + several * SMALLEST_NORMAL[real_of(dtype)])
    return found


def limits(values: Array, dtype: str, expected: Expected, bound: Bound, tolerance: str | None) -> Array:
    """Error bound of each element. `values` are those of `expected`."""
    size = np.abs(values)
    scale = _scale(size, expected)
    library = bound.relative * size + bound.scaled * scale + bound.tiny
    if expected.narrowed is not None:
        library = library + bound.narrowed * expected.narrowed
    if bound.units:
        library = library + bound.units * unit(np.maximum(size, scale), expected.precision or dtype)
    return np.asarray(library + own_error(expected, tolerance))


def _scale(size: Array, expected: Expected) -> Array:
    return size if expected.scale is None else np.where(np.isfinite(expected.scale), expected.scale, size)
