"""Held-out calls: they keep the contract, follow from the seed alone, and those that fail become small."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from diopigen.conformance.cases import suite
from diopigen.conformance.cases.held_out import HeldOut, smallest
from diopigen.conformance.cases.legal import LegalCalls
from diopigen.conformance.model import SUCCESS, Case, Value, operands_of
from diopigen.ir.model import Function, Interface

FEW = 25
"""Every so many functions are looked at."""


@pytest.fixture(scope="module")
def functions(interface: Interface) -> list[Function]:
    return suite.tested(interface)[::FEW]


def test_a_seed_and_an_id_give_the_call_again(interface: Interface, functions: list[Function]) -> None:
    first, second = HeldOut(interface, 7), HeldOut(interface, 7)
    cases = [case for function in functions for case in first.of(function, 2)]
    assert len(cases) > len(functions)
    assert [second.find(case.id) for case in reversed(cases)] == list(reversed(cases))
    other = HeldOut(interface, 8)
    assert [case for function in functions for case in other.of(function, 2)] != cases


def test_calls_are_legal(interface: Interface, functions: list[Function]) -> None:
    drawn = HeldOut(interface, 1)
    for function in functions:
        for case in drawn.of(function, 3):
            assert case.expect == SUCCESS and case.axis == "held-out"
            assert all(size >= 0 for one in operands_of(case.arguments.values()) for size in one.shape)


def test_no_predicate_is_asked_about_more_elements_than_a_call_may_have(
    interface: Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes of several dimensions multiply: a call of five dimensions would have billions."""
    asked: list[int] = []
    admits = LegalCalls.admits

    def recorded(self: LegalCalls, arguments: Mapping[str, Value]) -> bool:
        asked.extend(math.prod(one.shape) for one in operands_of(arguments.values()))
        return admits(self, arguments)

    monkeypatch.setattr(LegalCalls, "admits", recorded)
    function = interface.function("diopiRoiawarePool3dBackwardMmcv")
    assert function is not None
    drawn = HeldOut(interface, 0)
    (case, *_) = (case for case in suite.cases_of(interface, function) if case.axis == "recipe")
    assert drawn.of(function, 6) and drawn.enlarged(function, case, 61) is None
    assert 0 < max(asked) <= 1 << 20


def test_a_failing_call_becomes_small(interface: Interface) -> None:
    """Ends at a contiguous call with the fewest columns that fail."""
    drawn = HeldOut(interface, 3)
    function = interface.function("diopiSoftmax")
    assert function is not None

    def columns(case: Case) -> int:
        return next(operands_of([case.arguments["input"]])).shape[-1]

    def fails(case: Case) -> bool:
        shape = next(operands_of([case.arguments["input"]])).shape
        return len(shape) > 0 and shape[-1] > 3

    case = next(case for case in drawn.of(function, 40) if fails(case) and columns(case) > 8)
    found = smallest(drawn, case, fails)
    (operand,) = operands_of([found.arguments["input"]])
    assert operand.shape[-1] < columns(case) and operand.layout == "contiguous"
    assert all(size == 1 for size in operand.shape[:-1] if size != operand.shape[-1])


@pytest.mark.build
def test_the_summary_names_the_seed_and_the_failure_its_smallest_call(
    tiny_library: Path, runtime: Path, tmp_path: Path
) -> None:
    source, library = tmp_path / "stub.c", tmp_path / "libstub.so"
    source.write_text(
        'const char* diopiGetVendorName(void) { return "stub"; }\n'
        "int diopiRelu(void* ctx, void* out, const void* input) { return 0; }\n"
    )
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    command = [sys.executable, "-m", "diopigen", "conformance", "run", "--lib", str(library), "--runtime", str(runtime)]
    done = subprocess.run([*command, "--ops", "Relu", "--held-out", "4"], capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "; seed " in done.stdout.splitlines()[-1]
    again = subprocess.run(
        [*command, "--ops", "Relu", "--held-out", "4", "--seed", "5"], capture_output=True, text=True
    )
    # Of another seed the first failure may be as small as calls get.
    assert "the smallest call that fails:" in again.stdout
    assert again.stdout.splitlines()[-1].endswith("; seed 5")
