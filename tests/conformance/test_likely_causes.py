"""Likely causes of failures: those of faults that the tiny library has, and the table of the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_cases import tiny_cases

from diopigen.conformance.model import FAILURES, CaseResult
from diopigen.conformance.report.cause_table import CAUSES, as_markdown
from diopigen.conformance.report.causes import likely_causes
from diopigen.conformance.report.credit import credit, weights
from diopigen.conformance.run.runner import slim
from diopigen.conformance.run.worker import Bench, Setup
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]


def results_of(function: str, interface: Interface, library: Path, runtime: Path) -> list[CaseResult]:
    """The results of a function in this process."""
    interface_of_one = slim(interface, {f"diopi{function}"})
    bench = Bench(Setup(interface_of_one, str(library), str(runtime), 0, 20.0, 0))
    try:
        return [bench.result(case) for case in tiny_cases(interface, function)]
    finally:
        bench.end()


def alike(results: Sequence[CaseResult], kind: str) -> tuple[CaseResult, list[CaseResult]]:
    """The first failure of a kind, and the results that tell about it."""

    def is_one(result: CaseResult) -> bool:
        return result.outcome in FAILURES and result.faults[0].kind == kind

    first = next(result for result in results if is_one(result))
    return first, [one for one in results if one.outcome not in FAILURES or is_one(one)]


@pytest.mark.parametrize(
    ("fault", "function", "kind", "code"),
    [
        ("alpha ignored", "Add", "values", "ignored-argument"),
        ("NaN dropped", "Add", "values", "nan-lost"),
        ("int64 through float", "Add", "values", "integers-through-floats"),
        ("input changed", "Add", "input changed", "input-written"),
        ("missing status", "Add", "status", "accepts-illegal"),
        ("nothing written", "Relu", "values", "unwritten"),
        ("failure after writing", "Relu", "output of a failure", "writes-before-checks"),
        ("bool byte", "LogicalNot", "bool byte", "bool-byte"),
        ("softmax without maximum", "Softmax", "values", "nan-created"),
        ("output missing", "MaskedSelect", "missing output", "allocated-output"),
        ("distribution", "UniformInp", "distribution", "distribution"),
        ("not reproducible", "UniformInp", "reproducibility", "generator"),
    ],
)
def test_the_cause_of_a_fault_is_recognized(
    fault: str, function: str, kind: str, code: str, interface: Interface, tiny_library: Path, runtime: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("TINY_FAULT", fault)
    results = results_of(function, interface, tiny_library, runtime)
    failing, evidence = alike(results, kind)
    assert [cause.code for cause in likely_causes(evidence, failing)][:1] == [code]


def test_the_documentation_has_the_table() -> None:
    page = (ROOT / "docs/conformance.md").read_text(encoding="utf-8")
    assert as_markdown() in page, "write it with tools/write_cause_table.py"
    assert len({cause.code for cause in CAUSES}) == len(CAUSES)


def test_credit_is_whole_where_every_case_passes_alone(interface: Interface, tiny_library: Path, runtime: Path) -> None:
    results = results_of("Relu", interface, tiny_library, runtime)
    assert credit(results, is_complete=True)["score"] == 1.0
    assert credit(results, is_complete=False)["score"] is None
    index = next(index for index, one in enumerate(results) if one.case.axis == "non-contiguous")
    worse = list(results)
    worse[index] = replace(results[index], outcome="failed")
    score = credit(worse, is_complete=True)["score"]
    cases = [one for one in results if one.case.axis == "non-contiguous"]
    total = sum(weights()[axis] for axis in {one.case.axis for one in results if one.outcome == "passed"})
    assert score == pytest.approx(1 - weights()["non-contiguous"] / len(cases) / total, abs=1e-6)
