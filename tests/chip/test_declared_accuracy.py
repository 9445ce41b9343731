"""Declared accuracy in a chip's file: findings with positions, and the resolved accuracy of a function and dtype."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from chip_helpers import SMALLEST, read

from diopigen.chip.accuracy import Accuracy, Declaration, accuracy_of
from diopigen.chip.accuracy_reader import RULES
from diopigen.chip.grammar import json_schema
from diopigen.ir.model import Interface

GOOD = """\
accuracy:
  - doc: The unit of exponentials has 20 bits.
    elementary: [exp, tanh]
    dtypes: [float32]
    ulp: 16
  - classes: [matmul, convolution]
    dtypes: [float32]
    product_bits: 11
  - functions: [diopiSoftmax]
    accumulate: float16
    ulp: 4
  - classes: [transcendental]
    ulp: 2.5
  - flush_denormals: true
"""


def entries(text: str, folder: Path, interface: Interface) -> tuple[Declaration, ...]:
    chip, found = read(SMALLEST + text, folder, interface)
    assert chip is not None, found
    return chip.accuracy


def test_entries_are_read_with_their_lines(tmp_path: Path, interface: Interface) -> None:
    found = entries(GOOD, tmp_path, interface)
    assert found[0] == Declaration(elementary=("exp", "tanh"), dtypes=("float32",), ulp=16.0)
    assert [one.where for one in found] == [f"chip.yaml:{line}" for line in (9, 13, 16, 19, 21)]
    assert [str(one) for one in found] == [
        "exp, tanh in float32: 16 ULP",
        "matmul, convolution in float32: products of 11 bits",
        "diopiSoftmax: 4 ULP, sums in float16",
        "transcendental: 2.5 ULP",
        "all results: denormals flushed",
    ]


@pytest.mark.parametrize(
    ("function", "dtype", "expected"),
    [
        # An elementary function is closer than the class of the operator, and counts once for each call of the kernel.
        ("diopiExp", "float32", Accuracy(elementary=16, flush=True, sources=("chip.yaml:21", "chip.yaml:9"))),
        ("diopiExp", "float16", Accuracy(ulp=2.5, flush=True, sources=("chip.yaml:19", "chip.yaml:21"))),
        ("diopiSilu", "float32", Accuracy(ulp=2.5, flush=True, sources=("chip.yaml:19", "chip.yaml:21"))),
        ("diopiMm", "float32", Accuracy(product_bits=11, flush=True, sources=("chip.yaml:13", "chip.yaml:21"))),
        ("diopiMm", "complex64", Accuracy(product_bits=11, flush=True, sources=("chip.yaml:13", "chip.yaml:21"))),
        ("diopiMm", "float64", Accuracy(flush=True, sources=("chip.yaml:21",))),
        (
            "diopiSoftmax",
            "float64",
            Accuracy(ulp=4, accumulate="float16", flush=True, sources=("chip.yaml:16", "chip.yaml:21")),
        ),
    ],
)
def test_the_closest_entry_counts(
    tmp_path: Path, interface: Interface, function: str, dtype: str, expected: Accuracy
) -> None:
    known = interface.function(function)
    assert known is not None
    assert accuracy_of(entries(GOOD, tmp_path, interface), known, dtype) == expected


def test_a_function_by_name_is_closer_than_what_its_kernel_calls(tmp_path: Path, interface: Interface) -> None:
    text = "accuracy:\n  - elementary: [exp]\n    ulp: 16\n  - functions: [diopiExp]\n    ulp: 1\n"
    exp = interface.function("diopiExp")
    assert exp is not None
    found = accuracy_of(entries(text, tmp_path, interface), exp, "float32")
    assert found == Accuracy(ulp=1, sources=("chip.yaml:11",))


BAD = {
    "chip-accuracy-function": (
        "- functions: [diopiSoftmaxx]\n    ulp: 2",
        "9:17: error[chip-accuracy-function]: there is no operator 'diopiSoftmaxx' (did you mean 'diopiSoftmax'?)",
    ),
    "chip-accuracy-number": (
        "- functions: [diopiExp]\n    ulp: 0.1",
        "10:10: error[chip-accuracy-number]: an error cannot be 0.1 ULP "
        "(give a number of at least 0.5, the error of one correct rounding)",
    ),
    "chip-accuracy-empty": (
        "- functions: [diopiExp]",
        "9:5: error[chip-accuracy-empty]: the entry declares nothing "
        "(add one of ulp, accumulate, product_bits, flush_denormals, batch_invariant)",
    ),
    "chip-accuracy-idle": (
        "- classes: [rounding]\n    accumulate: float16",
        "10:17: error[chip-accuracy-idle]: no result of rounding depends on 'accumulate' "
        "(take it out, or name functions of another class: `diopigen explain NAME` shows the class)",
    ),
    "bits that the dtype has": (
        "- classes: [matmul]\n    dtypes: [float16]\n    product_bits: 11",
        "11:19: error[chip-accuracy-idle]: operands have no more than 11 bits, so that none is rounded "
        "(give fewer bits, or take it out)",
    ),
    "chip-accuracy-twice": (
        "- classes: [rounding]\n    ulp: 3\n  - classes: [rounding]\n    ulp: 4\n    dtypes: [float16]",
        "12:10: error[chip-accuracy-twice]: 'ulp' of rounding is declared twice (keep one)",
    ),
    "unknown-word": (
        "- elementary: [expo]\n    ulp: 3",
        "9:18: error[unknown-word]: an entry of 'elementary' cannot be 'expo' (did you mean 'exp'?)",
    ),
    "no float": (
        "- dtypes: [int32]\n    flush_denormals: true",
        "9:14: error[unknown-word]: an entry of 'dtypes' cannot be 'int32' "
        "(use one of: float16, bfloat16, tfloat32, float32, float64, float8_e4m3fn, float8_e5m2, float8_e8m0fnu)",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_is_reported_with_its_position(tmp_path: Path, interface: Interface, name: str) -> None:
    entry, expected = BAD[name]
    chip, found = read(f"{SMALLEST}accuracy:\n  {entry}\n", tmp_path, interface)
    assert chip is None
    assert found == [expected]


def test_every_rule_has_a_case() -> None:
    assert set(RULES) <= set(BAD)


def test_the_schema_accepts_what_the_reader_does(tmp_path: Path, interface: Interface) -> None:
    schema: dict[str, Any] = json_schema(interface)
    validator = jsonschema.Draft7Validator(schema)
    assert validator.is_valid(yaml.safe_load(SMALLEST + GOOD))
    for entry in ("- elementary: [expo]\n    ulp: 3", "- dtypes: [int32]\n    ulp: 3", "- ulps: 3", "{}"):
        assert not validator.is_valid(yaml.safe_load(f"{SMALLEST}accuracy:\n  {entry}\n"))
