"""Cases that fail only after others are found, with the fewest that must come before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny_cases import tiny_cases

from diopigen.cli import cli
from diopigen.conformance.model import Case
from diopigen.conformance.run.order import minimal
from diopigen.ir.model import Interface


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
    tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """diopiRelu is wrong once diopiLogicalNot and diopiSoftmax have been called."""
    monkeypatch.setenv("TINY_FAULT", "order")
    tested = ["conformance", "bisect-order", "--lib", str(tiny_library), "--runtime", str(runtime)]
    selection = [word for name in ("Relu", "LogicalNot", "Softmax") for word in ("--ops", name)]
    found = CliRunner().invoke(cli, [*tested, *selection, "--only", "dtype=float32", "--only", "axis=recipe"])
    lines = found.stdout.splitlines()
    assert found.exit_code == 1, found.output
    assert "0 that fail in any order" in lines[0]
    assert lines[1].startswith("diopiRelu/float32/recipe-1 failed after ")
    assert lines[2] == "  these 2 before it are enough:"
    before = [line.strip() for line in lines[3:5]]
    assert {name.split("/")[0] for name in before} == {"diopiLogicalNot", "diopiSoftmax"}
    repeated = CliRunner().invoke(cli, [*tested, *before, "diopiRelu/float32/recipe-1"])
    outcomes = [line.split()[1].rstrip(":") for line in repeated.stdout.splitlines()]
    assert repeated.exit_code == 1 and outcomes == ["passed", "passed", "failed"]
    assert lines[-1].split()[-3:] == [*before, "diopiRelu/float32/recipe-1"]
    in_order = CliRunner().invoke(cli, [*tested, "diopiRelu/float32/recipe-1", *before])
    assert in_order.exit_code == 0, in_order.output
