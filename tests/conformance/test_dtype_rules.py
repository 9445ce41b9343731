"""dtype rules, promotion and the bytes of elements against values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from diopigen.conformance.dtypes import bfloat16_bits, bfloat16_values, decode, encode, float_to_int
from diopigen.contract.dtype_rules import alternatives, evaluate
from diopigen.contract.dtypes import promote, promote_types
from diopigen.contract.functions import DTYPE_RULES
from diopigen.spec.expression import parse

OPERANDS: dict[str, list[tuple[str, int | None]]] = {
    "half": [("float16", 2)],
    "brain": [("bfloat16", 2)],
    "single": [("float32", 1)],
    "double0d": [("float64", 0)],
    "int": [("int32", 2)],
    "byte": [("uint8", 2)],
    "flag": [("bool", 2)],
    "z": [("complex64", 2)],
    "number": [("float64", None)],
    "whole": [("int64", None)],
    "several": [("int8", 1), ("uint8", 1)],
    "null": [],
}

RULES = {
    "same(half)": "float16",
    "same(several)": "int8",
    "promote(half, single)": "float32",
    "promote(half, double0d)": "float16",
    "promote(int, double0d)": "float64",
    "promote(int, number)": "float32",
    "promote(half, number)": "float16",
    "promote(byte, whole)": "uint8",
    "promote(flag, whole)": "int64",
    "promote(several)": "int16",
    "promote(int, null)": "int32",
    "promote(z, double0d)": "complex64",
    "to_float(int)": "float32",
    "to_float(half)": "float16",
    "to_float(promote(int, byte))": "float32",
    "accumulate(byte)": "int64",
    "accumulate(flag)": "int64",
    "accumulate(half)": "float16",
    "opmath(half)": "float32",
    "opmath(brain)": "float32",
    "opmath(int)": "int32",
    "opmath(double0d)": "float64",
    "opmath(z)": "complex64",
    "one_of(half, opmath(half))": "float16",
    "one_of(float32, half)": "float32",
    "to_real(z)": "float32",
    "to_real(half)": "float16",
    "to_complex(double0d)": "complex128",
    "to_complex(single)": "complex64",
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_gives_the_dtype(rule: str) -> None:
    assert evaluate(parse(rule), lambda name: OPERANDS[name]) == RULES[rule]


ALTERNATIVES = {
    "one_of(half, opmath(half))": ("float16", "float32"),
    "one_of(brain, opmath(brain))": ("bfloat16", "float32"),
    "one_of(double0d, opmath(double0d))": ("float64",),
    "one_of(opmath(single), float32)": ("float32",),
    "one_of(opmath(double0d), float32)": ("float64", "float32"),
    "same(half)": ("float16",),
}


@pytest.mark.parametrize("rule", ALTERNATIVES)
def test_alternatives_depend_on_the_operand(rule: str) -> None:
    assert alternatives(parse(rule), lambda name: OPERANDS[name]) == ALTERNATIVES[rule]


def test_every_rule_is_tested_and_null_has_no_dtype() -> None:
    assert {rule.partition("(")[0] for rule in RULES} == set(DTYPE_RULES)
    with pytest.raises(LookupError):
        evaluate(parse("same(null)"), lambda name: OPERANDS[name])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("bool", "bool", "bool"), ("bool", "uint8", "uint8"), ("uint8", "int8", "int16"), ("int8", "int16", "int16"),
        ("int64", "float16", "float16"), ("float16", "bfloat16", "float32"), ("bfloat16", "float32", "float32"),
        ("float64", "complex64", "complex128"), ("float16", "complex64", "complex64"),
        ("complex64", "complex128", "complex128"), ("uint8", "int32", "int32"),
    ],
)  # fmt: skip
def test_two_dtypes_promote(first: str, second: str, expected: str) -> None:
    assert promote_types(first, second) == promote_types(second, first) == expected


def test_a_dimensioned_tensor_outranks_a_0d_tensor_of_its_kind_only() -> None:
    assert promote([("int8", 1), ("int64", 0)]) == "int8"
    assert promote([("int8", 1), ("float64", 0)]) == "float64"
    assert promote([("float32", 2), ("int64", 3)]) == "float32"
    assert promote([("int32", None), ("bool", 1)]) == "int32"


def test_bfloat16_rounds_half_to_even_and_keeps_nan_and_infinity() -> None:
    # 1 + 2^-8 lies half-way between 1 and 1 + 2^-7, 1 + 3 * 2^-8 between 1 + 2^-7 and 1 + 2^-6.
    numbers = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, -2.5, np.inf, -np.inf, 3.4e38, 0.0, -0.0], dtype=np.float32)
    bits = bfloat16_bits(numbers).tolist()
    assert bits == [0x3F80, 0x3F80, 0x3F82, 0xC020, 0x7F80, 0xFF80, 0x7F80, 0x0000, 0x8000]
    assert np.isnan(bfloat16_values(bfloat16_bits(np.array([np.nan], dtype=np.float32))))[0]
    assert bfloat16_values(np.array([0x3F82], dtype=np.uint16)).tolist() == [1.015625]


def test_float64_becomes_bfloat16_in_one_rounding() -> None:
    # In two steps the first would round down to the middle 1 + 2^-8, and the second to 1: the nearest is 1 + 2^-7.
    assert encode(np.array([1 + 2**-8 + 2**-40]), "bfloat16").tolist() == [0x3F81]
    assert encode(np.array([1 + 2**-8 - 2**-40]), "bfloat16").tolist() == [0x3F80]


def test_elements_keep_their_shape_also_without_dimensions() -> None:
    for dtype in ("bool", "int8", "bfloat16", "float16", "complex64"):
        assert encode(np.array(1), dtype).shape == decode(encode(np.array(1), dtype), dtype).shape == ()


def test_integers_wrap_and_floats_are_cut() -> None:
    assert encode(np.array([300, -1]), "uint8").tolist() == [44, 255]
    assert encode(np.array([2.9, -2.9, 300.0]), "int8").tolist() == [2, -2, 44]
    assert float_to_int(np.array([np.nan, np.inf, 1e30]), "int64").tolist() == [-(2**63)] * 3
    assert encode(np.array([0.0, 0.234, np.nan, -0.0]), "bool").tolist() == [0, 1, 1, 0]
    assert encode(np.array([1 + 5j]), "float32").tolist() == [1.0]
