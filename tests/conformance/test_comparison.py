"""The comparison can fail: each class of error is found, and what the bound allows is not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from diopigen.conformance.cases.values import draw
from diopigen.conformance.compare.bounds import bound_of, own_error
from diopigen.conformance.compare.results import compare
from diopigen.conformance.dtypes import decode, encode, widest
from diopigen.conformance.model import Fault
from diopigen.conformance.oracles import Expected
from diopigen.contract.dtypes import LARGEST, MANTISSA
from diopigen.ir.recipe import Drawn


def fault_of(actual: object, expected: object, dtype: str, tolerance: str, **options: Any) -> Fault | None:
    """The comparison of two lists, the expected one in the type in which oracles compute."""
    requested = Expected(widest(np.asarray(expected)), **options)
    return compare(encode(np.asarray(actual), dtype), dtype, requested, tolerance, "out")


EXACT = [
    ([1.0, 2.0], [1.0, 2.0], True),
    ([1.0, 2.0000002], [1.0, 2.0], False),
    ([0.0], [-0.0], False),
    ([math.nan], [math.nan], True),
    ([math.nan], [0.0], False),
    ([0.0], [math.nan], False),
    ([math.inf], [math.inf], True),
    ([-math.inf], [math.inf], False),
]


@pytest.mark.parametrize(("actual", "expected", "right"), EXACT)
def test_exact_floats_are_compared_bit_by_bit(actual: list[float], expected: list[float], right: bool) -> None:
    assert (fault_of(actual, expected, "float32", "exact") is None) is right


def test_the_sign_of_zero_may_be_open() -> None:
    assert fault_of([0.0], [-0.0], "float32", "exact", signed_zero=False) is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("tolerance", ["rounding", "transcendental", "reduction", "matmul", "convolution"])
def test_a_float_is_held_to_its_bound(dtype: str, tolerance: str) -> None:
    bound = bound_of(tolerance, dtype)
    limit = bound.relative + bound.scaled
    assert fault_of([1 + 0.9 * limit], [1.0], dtype, tolerance) is None
    assert fault_of([1 + 2.5 * limit], [1.0], dtype, tolerance) is not None
    assert fault_of([1 - 2.5 * limit], [1.0], dtype, tolerance) is not None


def test_bounds_by_number() -> None:
    eps = 2.0**-23
    assert bound_of("rounding", "float32").relative + bound_of("rounding", "float32").scaled == 2 * eps
    assert bound_of("transcendental", "float32").relative + bound_of("transcendental", "float32").scaled == 4 * eps
    assert bound_of("transcendental", "float64").relative == 4 * 2.0**-52
    assert bound_of("reduction", "float32", 100).scaled == 28 * eps
    assert bound_of("reduction", "float16", 100).scaled == 28 * eps
    assert bound_of("reduction", "float16", 100).relative == 2.0**-10
    assert bound_of("rounding", "complex64") == bound_of("rounding", "float32")


def test_the_scale_widens_the_bound_where_terms_cancel() -> None:
    assert fault_of([1e-7], [0.0], "float32", "rounding") is not None
    assert fault_of([1e-7], [0.0], "float32", "rounding", scale=np.array([1.0])) is None
    assert fault_of([1e-3], [0.0], "float32", "rounding", scale=np.array([1.0])) is not None


@pytest.mark.parametrize(("dtype", "half_epsilon"), [("float16", 2.0**-11), ("bfloat16", 2.0**-8)])
def test_attention_may_round_one_factor_to_the_dtype_of_the_operands(dtype: str, half_epsilon: float) -> None:
    # Terms of the size 64 that cancel to 1: one rounding of a factor of each is allowed to attention alone.
    options = {"scale": np.array([64.0]), "narrowed": np.array([64.0])}
    once = 1 + 64 * half_epsilon
    assert fault_of([once], [1.0], dtype, "attention", **options) is None
    assert fault_of([once], [1.0], dtype, "reduction", **options) is not None
    assert fault_of([1 + 4 * 64 * half_epsilon], [1.0], dtype, "attention", **options) is not None


def test_nan_and_infinity_must_stand_where_they_stand() -> None:
    for expected in (1.0, math.inf, -math.inf, math.nan):
        for actual in (1.0, math.inf, -math.inf, math.nan):
            same = actual == expected or (math.isnan(actual) and math.isnan(expected))
            assert (fault_of([actual], [expected], "float32", "reduction") is None) is same


def test_beyond_the_largest_number_infinity_is_right() -> None:
    assert fault_of([math.inf], [1e39], "float32", "rounding") is None
    assert fault_of([3.4028235e38], [1e39], "float32", "rounding") is not None
    assert fault_of([-math.inf], [1e39], "float32", "rounding") is not None
    assert fault_of([math.inf], [60000.0], "float16", "rounding") is not None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("tolerance", ["rounding", "transcendental", "reduction", "approximate"])
@pytest.mark.parametrize("sign", [1, -1])
def test_infinity_is_right_only_where_the_exact_result_rounds_to_it(dtype: str, tolerance: str, sign: int) -> None:
    largest = np.longdouble(LARGEST[dtype])
    half = largest * np.longdouble(2.0 ** -MANTISSA[dtype]) / (2 - np.longdouble(2.0 ** (1 - MANTISSA[dtype])))

    def fault(actual: float, exact: np.longdouble) -> Fault | None:
        return compare(encode(np.array([actual]), dtype), dtype, Expected(np.array([sign * exact])), tolerance, "out")

    # The lowest finite value, where a specification asks for it, is no infinity.
    assert fault(sign * math.inf, largest) is not None
    assert fault(sign * math.inf, largest + half * np.longdouble(0.9)) is not None
    assert fault(sign * math.inf, largest + half) is None
    assert fault(sign * math.inf, np.longdouble(math.inf)) is None
    assert fault(sign * float(largest), largest) is None
    assert fault(sign * float(largest), largest + half) is None


def test_a_complex_infinity_is_right_only_where_a_part_rounds_to_it() -> None:
    assert fault_of([3e38 + 3e38j], [3e38 + 3e38j], "complex64", "rounding") is None
    assert fault_of([complex(math.inf, 3e38)], [3e38 + 3e38j], "complex64", "rounding") is not None
    assert fault_of([complex(math.inf, 3e38)], [4e38 + 3e38j], "complex64", "rounding") is None


def test_integers_and_bools_are_exact() -> None:
    assert fault_of([1, 2], [1, 2], "int64", "reduction") is None
    assert fault_of([1, 2**53 + 1], [1, 2**53], "int64", "reduction") is not None
    fault = compare(np.array([1, 255], dtype=np.uint8), "bool", Expected(np.array([True, True])), "exact", "out")
    assert fault == Fault("bool byte", "out", "element [1]: a bool is 0 or 1", "0 or 1", "255")


def test_complex_numbers_are_compared_by_distance() -> None:
    assert fault_of([1 + 1j], [1 + 1j], "complex64", "exact") is None
    assert fault_of([1 + 1.000001j], [1 + 1j], "complex64", "exact") is not None
    assert fault_of([1 + 1e-7j], [1 + 0j], "complex64", "rounding") is None
    assert fault_of([1 + 1e-5j], [1 + 0j], "complex64", "rounding") is not None


def test_the_worst_element_is_shown() -> None:
    fault = fault_of([[1.0, 2.1], [3.5, 4.0]], [[1.0, 2.0], [3.0, 4.0]], "float32", "rounding")
    assert fault is not None
    assert fault.message == "2 of 4 elements differ; worst [1, 0]: off by 0.5, allowed 7.15e-07"
    assert (fault.expected, fault.actual) == ("3.0", "3.5")


def test_another_shape_is_a_fault_and_free_elements_are_none() -> None:
    assert fault_of([[1.0]], [1.0], "float32", "exact") == Fault("shape", "out", "wrong shape", "(1,)", "(1, 1)")
    assert fault_of([5, 2], [1, 2], "int32", "exact", free=np.array([True, False])) is None
    assert fault_of([5, 3], [1, 2], "int32", "exact", free=np.array([True, False])) is not None


def test_a_computation_in_half_precision_is_not_asked_for_more() -> None:
    assert fault_of([1.0005], [1.0], "float32", "rounding", precision="float16") is None
    assert fault_of([1.0005], [1.0], "float32", "rounding") is not None


# ---- large tensors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "bool", "complex64"])
@pytest.mark.parametrize("wrong", [None, 0, 9, 10, 23])
def test_large_outputs_are_compared_in_chunks(dtype: str, wrong: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors in any part are detected, and a scale that is broadcast counts in all of them."""
    values = np.arange(24).reshape(4, 6) % 2
    stored = encode(values, dtype)
    if wrong is not None:
        stored.reshape(-1)[wrong] = encode(np.array(1 - values.reshape(-1)[wrong]), dtype)
    scale = np.ones((4, 1)) if dtype in ("float32", "bfloat16") else None
    expected = Expected(decode(stored * 0 + encode(values, dtype), dtype), scale)
    full = compare(stored, dtype, expected, "reduction", "out")
    monkeypatch.setattr("diopigen.conformance.compare.results._PART", 10)
    parts = compare(stored, dtype, expected, "reduction", "out")
    assert (full is None) == (parts is None) == (wrong is None)
    if parts is not None and full is not None and wrong is not None:
        start = wrong // 10 * 10
        assert (parts.expected, parts.actual) == (full.expected, full.actual)
        assert parts.message.endswith(f"(elements {start} to {min(start + 9, 23)} of [4, 6], counted in a row)")
        assert f"worst [{wrong - start}]" in parts.message


@pytest.mark.parametrize("words", ["normal", "uniform", "integers", "bools", "nonzero"])
def test_large_tensors_are_drawn_part_by_part(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = {"uniform": (-1, 1), "integers": (0, 7)}.get(words, ())
    sampled = Drawn(words, arguments)
    found = []
    for part in (1 << 22, 1000):
        monkeypatch.setattr("diopigen.conformance.cases.values._PART", part)
        dtype = "bool" if words == "bools" else "float32"
        found.append(draw(sampled, (50, 70), dtype, np.random.Generator(np.random.PCG64(3))))
    assert found[0].shape == (50, 70) and len(np.unique(found[0])) > 1
    assert np.array_equal(found[0], found[1])


@pytest.mark.parametrize("dtype", ["float64", "longdouble", "complex128", "clongdouble"])
def test_an_oracle_is_granted_its_own_roundings(dtype: str) -> None:
    unit = float(np.finfo(dtype).eps) / 2
    values = np.array([1.0, 0.0, 3.0], dtype)
    found = own_error(Expected(values, np.array([2.0, 4.0, np.inf]), terms=100), "rounding")
    assert found == pytest.approx(108 * unit * np.array([2.0, 4.0, 3.0]), rel=1e-6)


def test_whole_numbers_have_no_roundings() -> None:
    assert own_error(Expected(np.array([7, -7]), terms=100)).tolist() == [0, 0]


@pytest.mark.parametrize(("terms", "vectors"), [(3000, 4), (3000, 1), (70001, 8)])
def test_the_roundings_granted_cover_every_order_of_addition(terms: int, vectors: int) -> None:
    """Sums in lanes, as vector instructions make them, against the exact one."""
    numbers = np.random.default_rng(terms).standard_normal(terms)
    lanes = [0.0] * vectors
    for index, number in enumerate(numbers.tolist()):
        lanes[index % vectors] += number
    exact, scale = math.fsum(numbers), math.fsum(np.abs(numbers))
    expected = Expected(np.array(exact), np.array(scale), terms)
    assert 0 < abs(sum(lanes) - exact) <= float(own_error(expected))
    assert 0 < abs(float(np.add.accumulate(numbers)[-1]) - exact) <= float(own_error(expected))
