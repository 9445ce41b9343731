"""The conformance suite over the CPU library, and the texts of refusals. A change runs one case in `PART`, and
`make nightly` all but the large ones of models."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from cpu_build import ROOT, SANITIZED
from programs import HOUR
from sampling import RUNS_ALL, sampled

from diopigen import api
from diopigen.conformance.cases.suite import select
from diopigen.conformance.model import SUCCESS, Case, Results
from diopigen.conformance.run.runner import run
from diopigen.diagnostics import Sink
from diopigen.ir.model import Function, Interface

PART = 1 if RUNS_ALL or SANITIZED in os.environ else 8


@pytest.fixture(scope="module")
def results(
    libraries: tuple[Path, Path], interface: Interface, derived: Callable[[Function], Sequence[Case]]
) -> Results:
    """Results of the cases. Under sanitizers a process needs more address space than any limit, and more time."""
    tables = api.models(api.workspace(str(ROOT / "specs")), Sink())
    cases = sampled(select(interface, tables=tuple(tables.values()), derived=derived), PART)
    if SANITIZED in os.environ:
        return run(cases, interface, libraries[1], libraries[0], jobs=2, memory_limit=0, time_limit=HOUR)
    return run(cases, interface, libraries[1], libraries[0], jobs=2)


def check_outcomes(results: Results) -> None:
    """No case fails, none is missing or without an oracle, and no function is without a kernel."""
    assert [f"{result.case.id}: {result.faults}" for result in results.failures] == []
    assert {result.outcome for result in results.results} == {"passed"}
    assert len(results.results) > 18_000 // PART


def check_refusals(results: Results, interface: Interface) -> None:
    """The library's text starts with the function and names the invalid parameter; where a constraint ties
    several together, at least one."""
    silent = []
    rejected = [result for result in results.results if result.case.expect != SUCCESS and result.outcome == "passed"]
    for result in rejected:
        function = interface.function(result.case.function)
        assert function is not None
        name, _, text = result.reason.partition(": ")
        words = set(re.findall(r"\w+", text))
        blamed = result.case.blames
        # The count of an array is named by the array.
        expected = {param.name for param in function.params if not blamed or blamed in (param.name, param.count)}
        if name != function.name or not words & expected:
            silent.append(f"{result.case.id}: {result.reason}")
    assert silent == []
    assert len(rejected) > 5_000 // PART


@pytest.mark.suite
def test_every_case_passes_and_every_refusal_says_why(results: Results, interface: Interface) -> None:
    """One test, so that one process runs the suite once."""
    check_outcomes(results)
    check_refusals(results, interface)


@pytest.mark.slow
def test_elementwise_operators_are_right_for_all_numbers_of_16_bits(
    libraries: tuple[Path, Path], interface: Interface
) -> None:
    cases = select(interface, axes=["exhaustive"])
    found = run(cases, interface, libraries[1], libraries[0], jobs=2)
    assert [f"{result.case.id}: {result.faults}" for result in found.failures] == []
    assert len(cases) > 400
