"""The calls of the published conformance suite: accepted, and right by the oracles and PyTorch (docs/host-calls.md)."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest
from explained import entries, findings, reason_of, unneeded
from outcomes import Outcome, outcomes, torch_asked
from published_calls import FOLDER, Line, elements, lines

from diopigen.calling import Library
from diopigen.ir.model import Interface

FAMILIES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
ASK = torch_asked if importlib.util.find_spec("torch") else None
"""PyTorch is optional; the oracles are asked in any case."""


@pytest.fixture(scope="module")
def library(libraries: tuple[Path, Path]) -> Library:
    return Library(str(libraries[1]), str(libraries[0]))


def _smallest() -> list[Line]:
    """For each function the case with the fewest elements that calls it."""
    found: dict[str, tuple[int, Line]] = {}
    for line in lines():
        size = elements(line)
        for name, _ in line.calls:
            if name not in found or size < found[name][0]:
                found[name] = (size, line)
    return list({line.name: line for _, line in found.values()}.values())


def _unexplained(found: list[Outcome]) -> list[str]:
    return [f"{one.line}: {one.function}: {findings(one)}" for one in found if reason_of(one) is None]


def test_a_case_of_each_function(library: Library) -> None:
    cases = _smallest()
    found = [one for line in cases for one in outcomes(library, line, ASK)]
    assert _unexplained(found) == []
    assert len({one.function for one in found}) > 250


def test_the_table_names_functions_and_parameters_of_the_interface(interface: Interface) -> None:
    for line in lines():
        for name, arguments in line.calls:
            function = interface.function(f"diopi{name}")
            assert function is not None, line.name
            assert set(arguments) <= {param.name for param in function.params}, line.name


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_case(library: Library, family: str) -> None:
    """Every case of a family, and every explanation of what differs is needed."""
    found = [one for line in lines(family) for one in outcomes(library, line, ASK)]
    assert _unexplained(found) == []
    assert unneeded(found, with_torch=ASK is not None) == []


def test_an_explanation_that_no_outcome_needs_is_named() -> None:
    entry = entries()[0]
    one = Outcome("line", f"diopi{entry['functions'][0]}", entry["outcome"], entry["message"])
    assert entry not in unneeded([one], with_torch=True)
    assert entry in unneeded([replace(one, kind="passed", message="")], with_torch=True)
