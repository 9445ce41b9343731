"""Runs that are held to a chip's accuracy: what passes by it alone, what is worse, and how the reports name both."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tiny_cases import tiny_cases

from diopigen.api import workspace
from diopigen.chip.accuracy import Declaration
from diopigen.conformance.model import Results
from diopigen.conformance.report.html import to_html
from diopigen.conformance.report.results import text, to_json, to_junit
from diopigen.conformance.run.reading import read_results
from diopigen.conformance.run.runner import run
from diopigen.diagnostics import Span
from diopigen.ir.model import Interface

FAULT = "float32 off by 50 units"
"""A relative error of 50 * 2^-23: from 50 to 100 ULP."""


def declared(ulp: float, *more: Declaration) -> tuple[Declaration, ...]:
    entry = Declaration(functions=("diopiAdd",), dtypes=("float32",), ulp=ulp, span=Span("chip.yaml", 12))
    return (entry, *more)


def results_of(
    interface: Interface, library: Path, runtime: Path, accuracy: tuple[Declaration, ...], *axes: str
) -> Results:
    cases = [case for case in tiny_cases(interface, "Add") if case.axis in (axes or ("plain", "recipe", "broadcast"))]
    found = run(cases, interface, library, runtime, accuracy=accuracy)
    return replace(found, declarations={one.where: str(one) for one in accuracy})


def outcomes(results: Results, dtype: str) -> Counter[str]:
    return Counter(one.outcome for one in results.results if one.case.dtype == dtype)


def test_a_weakness_that_is_declared_is_named_and_counted(
    interface: Interface, tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TINY_FAULT", FAULT)
    results = results_of(interface, tiny_library, runtime, declared(100))
    assert results.good
    count = results.counts["declared"]
    assert outcomes(results, "float32")["declared"] > 0 and set(outcomes(results, "float64")) == {"passed"}
    report = text(results)
    assert f"declared accuracy: {count} of {len(results.results)} cases pass by it alone, 0 are worse" in report
    assert re.search(rf"chip.yaml:12  diopiAdd in float32: 100 ULP: \d+ cases, {count} by it alone\n", report)
    document = json.loads(to_json(results))
    assert document["declared"][0]["alone"] == count and document["counts"]["declared"] == count
    junit = ElementTree.fromstring(to_junit(results).encode())
    said = [one.text for one in junit.iter("system-out")]
    assert len(said) == count and all("chip.yaml:12 (diopiAdd in float32: 100 ULP)" in str(one) for one in said)
    assert junit.findall(".//failure") == []
    assert '"alone":' + str(count) in to_html(results, interface, workspace().templates)
    path = tmp_path / "results.json"
    # 0.25002 is 0.3, and 0.2 if it is 0.250 first.
    for timed in (results, replace(results, seconds=0.25002)):
        path.write_text(to_json(timed), encoding="utf-8")
        assert text(read_results(path)) == text(timed), "a report of the file says the same"


def test_what_is_worse_than_declared_fails_and_is_named(
    interface: Interface, tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_FAULT", FAULT)
    results = results_of(interface, tiny_library, runtime, declared(20))
    worse = results.failures
    assert worse and all(one.declared == ("chip.yaml:12",) for one in worse)
    assert "worse than declared: 20 ULP (chip.yaml:12)" in worse[0].faults[0].message
    report = text(results)
    assert f"0 by it alone, {len(worse)} worse: {worse[0].case.id}" in report


def test_a_library_that_is_right_needs_no_declaration(interface: Interface, tiny_library: Path, runtime: Path) -> None:
    flush = Declaration(flush_denormals=True, span=Span("chip.yaml", 20))
    results = results_of(interface, tiny_library, runtime, declared(2, flush), "plain", "special")
    assert set(results.counts) >= {"declared"} and results.counts["declared"] == 0
    assert {one.outcome for one in results.results} == {"passed"}


def test_errors_are_in_every_report(interface: Interface, tiny_library: Path, runtime: Path) -> None:
    results = results_of(interface, tiny_library, runtime, ())
    short, full = text(results), text(results, accuracy=True)
    assert "accuracy in ULP" in short and re.search(r"^float32 +1 ", short, re.MULTILINE)
    assert re.search(r"^diopiAdd +float64 +\d+\.\d\d +\d+\.\d\d ", full, re.MULTILINE)
    rows = {(row["function"], row["dtype"]): row for row in json.loads(to_json(results))["accuracy"]}
    assert 0 < rows["diopiAdd", "float32"]["worst"] <= 2
    assert rows["diopiAdd", "float32"]["mean"] <= rows["diopiAdd", "float32"]["worst"]
    for table in (short, full):
        lines = table[table.index("accuracy in ULP") :].split("\n\n")[0].splitlines()[1:]
        ends = {len(line) for line in lines[1:2]}
        assert all(len(line) <= max(ends) for line in lines), "the columns line up under the rule"
