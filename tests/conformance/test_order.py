"""Cases that fail only after others are found, with the fewest that must come before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny_cases import tiny_cases

from diopigen.cli import cli
from diopigen.conformance.model import Case
from diopigen.conformance.run.order import minimal, search, shuffled
from diopigen.conformance.run.runner import slim
from diopigen.conformance.run.worker import Bench, Setup
from diopigen.ir.model import Interface

RELATED = {"diopiRelu", "diopiLogicalNot", "diopiSoftmax"}


@pytest.mark.parametrize("needed", [(3,), (0, 39), (5, 17, 18)])
def test_delta_debugging_leaves_what_is_needed(interface: Interface, needed: tuple[int, ...]) -> None:
    cases = tiny_cases(interface, "Add")[:40]
    culprits = [cases[index] for index in needed]
    tries = 0

    def fails(some: Sequence[Case]) -> bool:
        nonlocal tries
        tries += 1
        return all(case in some for case in culprits)

    assert minimal(cases, fails) == culprits
    assert tries < 100


def test_the_cases_before_a_failure_are_reduced(
    interface: Interface, tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """diopiRelu is wrong once diopiLogicalNot and diopiSoftmax have been called."""
    monkeypatch.setenv("TINY_FAULT", "order")
    cases = tiny_cases(interface, "Relu", "LogicalNot", "Softmax")
    cases = [case for case in cases if case.axis == "recipe" and case.dtype == "float32"]
    setup = Setup(slim(interface, RELATED), str(tiny_library), str(runtime), 0, 20.0, 0)
    found = search(shuffled(cases, 0), lambda: Bench(setup))
    assert found.dependence is not None and found.alone == ()
    assert found.dependence.failing.case.function == "diopiRelu" and found.dependence.seen_after > 2
    assert {case.function for case in found.dependence.before} == RELATED - {"diopiRelu"}
    assert len(found.dependence.before) == 2


def test_an_order_is_repeated_by_its_cases(tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_FAULT", "order")
    ids = ["diopiRelu/float32/recipe-1", "diopiLogicalNot/float32/recipe-1", "diopiSoftmax/float32/recipe-1"]
    command = ["conformance", "bisect-order", "--lib", str(tiny_library), "--runtime", str(runtime)]
    repeated = CliRunner().invoke(cli, [*command, *ids, "diopiRelu/float32/plain"])
    outcomes = [line.split()[1].rstrip(":") for line in repeated.stdout.splitlines()]
    assert repeated.exit_code == 1 and outcomes == ["passed", "passed", "passed", "failed"], repeated.output
