"""Bounds that follow from declared accuracy: they hold for the algorithm that is declared, and for nothing worse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diopigen.chip.accuracy import Accuracy
from diopigen.conformance.compare.bounds import bound_of
from diopigen.conformance.compare.results import compare
from diopigen.conformance.compare.ulp import combined, measure, unit
from diopigen.conformance.dtypes import encode, widest
from diopigen.conformance.model import Measured
from diopigen.conformance.oracles import Expected

RANDOM = np.random.Generator(np.random.PCG64(17))


def passes(actual: Any, dtype: str, expected: Expected, tolerance: str, accuracy: Accuracy | None = None) -> bool:
    return compare(encode(actual, dtype), dtype, expected, tolerance, "out", accuracy=accuracy) is None


def sums(terms: Any) -> Expected:
    """The exact sums of rows."""
    wide = widest(terms)
    return Expected(wide.sum(axis=-1), np.abs(wide).sum(axis=-1), terms.shape[-1])


@pytest.mark.parametrize(("ulp", "off", "good"), [(4, 3.9, True), (4, 4.6, False), (1, 1.0, True), (1, 2.0, False)])
@pytest.mark.parametrize("size", [1.0, 1.9999, 1e-30, 3e38])
def test_ulp_is_the_error_of_a_result(ulp: float, off: float, good: bool, size: float) -> None:
    exact = np.full(3, np.float64(np.float32(size)))
    actual = exact + np.trunc(off + 0.5) * np.spacing(np.float32(size)).astype(np.float64)
    assert passes(actual, "float32", Expected(exact), "transcendental", Accuracy(ulp=ulp)) == good


def test_a_declaration_narrows_a_bound() -> None:
    exact = np.array([1.0])
    off = exact + 3 * 2.0**-23
    assert passes(off, "float32", Expected(exact), "transcendental")
    assert not passes(off, "float32", Expected(exact), "transcendental", Accuracy(ulp=2))


def test_denormals_have_the_unit_of_denormals_unless_they_are_flushed() -> None:
    exact = np.array([2.0**-140, 2.0**-149])
    assert passes(exact, "float32", Expected(exact), "rounding", Accuracy(ulp=1))
    assert not passes(exact * 0, "float32", Expected(exact), "rounding", Accuracy(ulp=1))
    assert passes(exact * 0, "float32", Expected(exact), "rounding", Accuracy(ulp=1, flush=True))
    assert passes(exact * 0, "float32", Expected(exact), "exact", Accuracy(flush=True))
    assert not passes(exact * 0, "float32", Expected(exact), "exact")
    assert not passes(np.array([0.0]), "float32", Expected(np.array([1e-30])), "exact", Accuracy(flush=True))


def accumulated(terms: Any, dtype: Any) -> Any:
    """Sums of rows, one term after the other, rounded each time."""
    total = np.zeros(terms.shape[:-1], dtype=dtype)
    for index in range(terms.shape[-1]):
        total = (total + terms[..., index].astype(dtype)).astype(dtype)
    return total


@pytest.mark.parametrize("positive", [True, False])
def test_sums_in_float16_pass_only_where_they_are_declared(positive: bool) -> None:
    terms = RANDOM.normal(size=(40, 300)).astype(np.float16)
    terms = np.abs(terms) if positive else terms
    actual, expected = accumulated(terms, np.float16), sums(terms)
    assert not passes(actual, "float16", expected, "reduction")
    assert passes(actual, "float16", expected, "reduction", Accuracy(accumulate="float16"))
    assert passes(accumulated(terms, np.float32), "float16", expected, "reduction")


def test_a_sum_that_leaves_terms_out_is_found_where_sums_are_exact_enough() -> None:
    terms = np.abs(RANDOM.normal(size=(40, 300))).astype(np.float32)
    expected = sums(terms)
    declared = Accuracy(accumulate="bfloat16", ulp=4)
    assert not passes(terms[:, :3].sum(axis=1), "float32", expected, "reduction", Accuracy(accumulate="float16"))
    assert passes(terms.sum(axis=1), "float32", expected, "reduction", declared)


def test_a_wider_accumulate_type_narrows_the_bound() -> None:
    usual, wide = (
        bound_of("reduction", "float32", 10_000, None, one) for one in (None, Accuracy(accumulate="float64"))
    )
    assert wide.scaled < usual.scaled / 10
    assert usual.relative == wide.relative


def shortened(values: Any, bits: int) -> Any:
    """float32 numbers cut to some bits of the significand, as matrix units do with TF32."""
    mask = np.uint32((0xFFFFFFFF << (24 - bits)) & 0xFFFFFFFF)
    return (np.ascontiguousarray(values, dtype=np.float32).view(np.uint32) & mask).view(np.float32)


@pytest.mark.parametrize(
    ("bits", "declared", "good"), [(11, 11, True), (8, 11, False), (8, 8, True), (11, None, False)]
)
def test_products_of_few_bits(bits: int, declared: int | None, good: bool) -> None:
    a, b = (np.abs(RANDOM.normal(size=shape)).astype(np.float32) for shape in ((20, 64), (64, 20)))
    wide = np.einsum("mk,kn->mn", widest(a), widest(b))
    actual = np.einsum("mk,kn->mn", shortened(a, bits).astype(np.float64), shortened(b, bits).astype(np.float64))
    accuracy = None if declared is None else Accuracy(product_bits=declared)
    assert passes(actual, "float32", Expected(wide, np.abs(wide), 64), "matmul", accuracy) == good


def test_elementary_functions_add_what_they_are_off_by() -> None:
    exact = np.array([0.25])
    off = exact * (1 + 14 * 2.0**-23)
    assert not passes(off, "float32", Expected(exact), "transcendental")
    assert passes(off, "float32", Expected(exact), "transcendental", Accuracy(elementary=16))
    assert not passes(
        exact * (1 + 60 * 2.0**-23), "float32", Expected(exact), "transcendental", Accuracy(elementary=16)
    )


# ---- errors in ULP --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_the_unit_is_the_distance_to_the_next_number(dtype: str) -> None:
    bits = {"float32": 24, "float16": 11, "bfloat16": 8, "float64": 53}[dtype]
    assert float(unit(np.array(1.0), dtype)) == 2.0 ** (1 - bits)
    assert float(unit(np.array(1.9999999), dtype)) == 2.0 ** (1 - bits)
    assert float(unit(np.array(-2.0), dtype)) == 2.0 ** (2 - bits)
    if dtype != "bfloat16":
        numbers = RANDOM.normal(size=50).astype(dtype)
        assert np.array_equal(unit(widest(numbers), dtype), np.abs(np.spacing(numbers)))


def test_errors_are_counted_in_units_of_the_exact_result() -> None:
    exact = np.array([1.0, 3.0, -1.0])
    actual = exact + np.array([2.0**-23, 2.0**-21, 0.0])
    assert measure(encode(actual, "float32"), "float32", Expected(exact)) == Measured("float32", 2.0, 1.0, 3)


def test_what_has_no_relative_error_is_left_out() -> None:
    exact = np.array([0.0, np.inf, np.nan, 1e-45, 1e39, 5.0, 7.0])
    actual = np.array([1e-10, np.inf, 0.0, 0.0, np.inf, np.nan, 7.0])
    expected = Expected(exact, free=np.array([False] * 7))
    with np.errstate(all="ignore"):
        stored = encode(actual, "float32")
    assert measure(stored, "float32", expected) == Measured("float32", 0.0, 0.0, 1)
    assert measure(stored, "float32", Expected(exact, free=np.array([True] * 7))) is None
    assert measure(np.empty(0, np.float32), "float32", Expected(np.empty(0))) is None
    assert measure(np.array([1]), "int32", Expected(np.array([1]))) is None


def test_measurements_of_one_dtype_are_put_together() -> None:
    several = [Measured("float32", 2.0, 1.0, 3), Measured("float16", 1.0, 1.0, 1), Measured("float32", 4.0, 3.0, 1)]
    assert combined(several) == [Measured("float32", 4.0, 1.5, 4), Measured("float16", 1.0, 1.0, 1)]
