"""Known exceptions of a vendor: findings with places, what they do to cases, and that none hides more than it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_cases import tiny_cases

from diopigen.conformance.cases.suite import select
from diopigen.conformance.model import ANY_FAILURE, Case, CaseResult
from diopigen.conformance.report.results import text
from diopigen.conformance.run.exceptions import Known, read, unneeded, with_waivers
from diopigen.conformance.run.factors import free_factors
from diopigen.conformance.run.runner import run
from diopigen.diagnostics import Sink
from diopigen.findings.render import render
from diopigen.ir.model import Interface

GOOD = """\
skip:
  - cases: diopiRelu/float32/*
    reason: not planned
tolerance:
  - cases: diopiSoftmax/float32/*
    factor: 1e9
    reason: the exponential unit has few bits
unsupported:
  - functions: diopiAdd
    dtypes: [float64]
    reason: no float64 units
"""


def shown(sink: Sink) -> str:
    """Findings as text without the line that counts them, empty where there is none."""
    return render(sink.sorted(), "text").strip().rpartition("\n")[0] if len(sink) else ""


def parsed(content: str, folder: Path) -> tuple[tuple[Known, ...], str]:
    """The entries of a file and the findings about it as text."""
    path = folder / "known.yaml"
    path.write_text(content, encoding="utf-8")
    sink = Sink()
    found = read(path, "known.yaml", sink)
    return found, shown(sink)


def test_a_good_file(tmp_path: Path) -> None:
    found, findings = parsed(GOOD.replace("1e9", "4"), tmp_path)
    assert findings == ""
    assert [(known.waiver.kind, known.glob, known.waiver.where) for known in found] == [
        ("skip", "diopiRelu/float32/*", "known.yaml:2"),
        ("tolerance", "diopiSoftmax/float32/*", "known.yaml:5"),
        ("unsupported", "diopiAdd", "known.yaml:9"),
    ]
    assert found[1].waiver.factor == 4.0
    assert found[2].dtypes == {"float64"}
    assert found[2].waiver.reason == "no float64 units"


BAD = """\
skip:
  - cases: diopiRelu
    reason: ''
tolerance:
  - cases: diopiAdd/*
    factor: 1
    reason: why not
  - cases: diopiAdd/*
    factor: much
    reason: why not
unsupported:
  - functions: diopiAdd
    dtypes: [flot64]
    reason: no float64 units
"""

FINDINGS = """\
known.yaml:2:12: error[exception-bad-glob]: 'diopiRelu' is no glob over case ids
  fix: write 'diopiRelu/*' for all cases of a function
known.yaml:3:13: error[exception-reason]: the reason is empty
  fix: say why the library cannot do better
known.yaml:6:13: error[exception-factor]: a tolerance cannot be multiplied with 1
  fix: give a number above 1 and at most 10000
known.yaml:9:13: error[exception-factor]: a tolerance cannot be multiplied with much
  fix: give a number above 1 and at most 10000
known.yaml:13:14: error[exception-dtype]: there is no dtype 'flot64'
  fix: did you mean 'float64'?
"""


def test_what_is_wrong_with_a_file_is_said_with_its_position(tmp_path: Path) -> None:
    found, findings = parsed(BAD, tmp_path)
    assert found == ()
    assert findings.strip() == FINDINGS.strip()


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        ("- skip", "known.yaml:1:1: error[wrong-kind]: the file of known exceptions must be a mapping"),
        ("skp:\n  - cases: a/*\n    reason: b\n", "known.yaml:1:1: error[unknown-key]: unknown key 'skp'"),
        ("skip:\n  - cases: a/*\n", "known.yaml:2:5: error[missing-key]: an entry of 'skip' has no 'reason'"),
        ("skip: [a: b\n", "error[yaml-syntax]"),
        ("", "error[yaml-empty]"),
    ],
)
def test_files_of_another_form(content: str, finding: str, tmp_path: Path) -> None:
    found, findings = parsed(content, tmp_path)
    assert found == ()
    assert finding in findings


def waivers_of(interface: Interface, content: str, folder: Path, *names: str) -> tuple[list[Case], str]:
    known, findings = parsed(content, folder)
    assert findings == ""
    sink = Sink()
    cases = with_waivers(select(interface, ops=names), known, interface, sink)
    return cases, shown(sink)


def test_entries_claim_their_cases_and_no_others(interface: Interface, tmp_path: Path) -> None:
    cases, findings = waivers_of(interface, GOOD.replace("1e9", "4"), tmp_path, "Add", "Relu", "Softmax")
    assert findings == ""
    for case in cases:
        if case.id.startswith("diopiRelu/float32/"):
            assert case.waiver is not None and case.waiver.kind == "skip"
        elif case.id.startswith("diopiSoftmax/float32/"):
            assert case.waiver is not None and case.waiver.factor == 4.0
        elif case.id == "diopiAdd/float64/plain":
            assert case.waiver is not None and case.waiver.kind == "unsupported"
            assert case.expect == ANY_FAILURE
        elif case.id in ("diopiAdd/float32/plain", "diopiRelu/int32/plain"):
            assert case.waiver is None


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (
            "skip:\n  - cases: diopiRelo/*\n    reason: r\n",
            "known.yaml:2:12: error[exception-matches-nothing]: no case matches 'diopiRelo/*'\n"
            "  fix: did you mean 'diopiRelu'?",
        ),
        (
            "skip:\n  - cases: diopiRelu/float32/nothing-*\n    reason: r\n",
            "known.yaml:2:12: error[exception-matches-nothing]: no case matches 'diopiRelu/float32/nothing-*'\n"
            "  fix: remove it, or list the cases with `diopigen conformance list`",
        ),
        (
            "skip:\n  - cases: diopiRelu/*\n    reason: r\n  - cases: diopiRelu/float32/*\n    reason: r\n",
            "known.yaml:4:12: error[exception-matches-nothing]: every case of 'diopiRelu/float32/*' is claimed by "
            "line 2\n  fix: remove one of the two",
        ),
        (
            "tolerance:\n  - cases: diopiLogicalNot/*\n    factor: 2\n    reason: r\n",
            "known.yaml:2:12: error[exception-exact]: 'diopiLogicalNot/*' has exact results only, which a factor does "
            "not change\n  fix: fix the library, or move the entry to skip",
        ),
        # An entry about what was not selected is none of this run's business.
        ("skip:\n  - cases: diopiNeg/*\n    reason: r\n", ""),
    ],
)
def test_dead_entries_are_findings(content: str, finding: str, interface: Interface, tmp_path: Path) -> None:
    _, findings = waivers_of(interface, content, tmp_path, "Relu", "LogicalNot")
    assert findings == finding


def run_with(
    interface: Interface, library: Path, runtime: Path, folder: Path, content: str, *names: str
) -> tuple[tuple[CaseResult, ...], str, str]:
    """The results of a run with exceptions, the report, and the findings afterwards."""
    known, findings = parsed(content, folder)
    assert findings == ""
    cases = with_waivers(tiny_cases(interface, *names), known, interface, Sink())
    results = run(cases, interface, library, runtime)
    sink = Sink()
    unneeded(known, results.results, sink)
    return results.results, text(results), shown(sink)


def test_skipped_cases_are_counted_and_not_called(
    interface: Interface, tiny_library: Path, runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_FAULT", "nothing written")
    content = "skip:\n  - cases: diopiRelu/*\n    reason: not planned\n"
    results, report, _ = run_with(interface, tiny_library, runtime, tmp_path, content, "Relu")
    assert {result.outcome for result in results} == {"excepted"}
    assert all(result.seconds == 0 for result in results)
    count = len(results)
    assert f"known exceptions: {count} of {count} cases (100.0 %) are not counted as passed\n" in report
    assert f"known.yaml:2  skip  {count} cases: not planned\n" in report


def test_a_looser_tolerance_waives_what_it_needs_to_and_is_reported_where_it_is_not_needed(
    interface: Interface, tiny_library: Path, runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = "tolerance:\n  - cases: diopiAdd/float32/*\n    factor: 1.5\n    reason: r\n"
    results, _, findings = run_with(interface, tiny_library, runtime, tmp_path, content, "Add")
    assert {result.outcome for result in results if "/device-" not in result.case.id} == {"passed"}
    assert findings == (
        "known.yaml:2:12: warning[exception-unneeded]: all cases of 'diopiAdd/float32/*' pass without a looser "
        "tolerance\n  fix: remove the entry"
    )
    # A fault that is far beyond the bound stays one.
    monkeypatch.setenv("TINY_FAULT", "alpha ignored")
    results, _, findings = run_with(interface, tiny_library, runtime, tmp_path, content, "Add")
    assert "failed" in {result.outcome for result in results if result.case.dtype == "float32"}
    assert findings == ""
    loose = content.replace("1.5", "10000")
    monkeypatch.setenv("TINY_FAULT", "float32 off by 50 units")
    results, report, findings = run_with(interface, tiny_library, runtime, tmp_path, loose, "Add")
    outcomes = {result.case.id: result.outcome for result in results}
    assert outcomes["diopiAdd/float32/plain"] == "excepted"
    assert outcomes["diopiAdd/int32/plain"] == "passed"
    assert "known.yaml:2  tolerance" in report
    assert findings == ""


def test_an_unsupported_dtype_has_to_be_rejected(
    interface: Interface, tiny_library: Path, runtime: Path, tmp_path: Path
) -> None:
    content = "unsupported:\n  - functions: diopiAdd\n    dtypes: [DTYPE]\n    reason: r\n"
    known, _ = parsed(content.replace("DTYPE", "int16"), tmp_path)
    cases = [case for case in select(interface, ops=["Add"]) if case.id == "diopiAdd/int16/plain"]
    results = run(with_waivers(cases, known, interface, Sink()), interface, tiny_library, runtime)
    assert [result.outcome for result in results.results] == ["excepted"]
    # The tiny library does float32, so that this entry does not tell the truth.
    known, _ = parsed(content.replace("DTYPE", "float32"), tmp_path)
    cases = [case for case in select(interface, ops=["Add"]) if case.id == "diopiAdd/float32/plain"]
    results = run(with_waivers(cases, known, interface, Sink()), interface, tiny_library, runtime)
    assert [result.outcome for result in results.results] == ["failed"]
    assert results.results[0].faults[0].message == ("the call is accepted: known.yaml:2 calls its dtype unsupported")


@pytest.mark.parametrize(
    ("cases", "factor", "declared"),
    [
        # Four roundings of a result, times 4; ten of a sum, times 2; bits whose rounding is 400 times that of 64 terms.
        ("diopiExp/float32/*", 4, "{functions: [diopiExp], dtypes: [float32], ulp: 16}"),
        ("diopiSoftmax/float32/*", 2, "{functions: [diopiSoftmax], dtypes: [float32], ulp: 20}"),
        ("diopiMm/float32/*", 400, "{functions: [diopiMm], dtypes: [float32], product_bits: 11}"),
    ],
)
def test_a_factor_is_noted_with_the_declaration_in_its_position(
    interface: Interface, tmp_path: Path, cases: str, factor: int, declared: str
) -> None:
    known, _ = parsed(f"tolerance:\n  - cases: {cases}\n    factor: {factor}\n    reason: r\n", tmp_path)
    sink = Sink()
    free_factors(known, interface, sink)
    assert shown(sink) == (
        f"known.yaml:2:12: note[exception-free-factor]: '{cases}' has a bound times {factor}, which follows from no "
        f"algorithm\n  fix: declare it under 'accuracy' in the chip's file: {declared}"
    )


def test_only_factors_are_noted(interface: Interface, tmp_path: Path) -> None:
    known, _ = parsed("skip:\n  - cases: diopiExp/*\n    reason: r\n", tmp_path)
    sink = Sink()
    free_factors(known, interface, sink)
    assert len(sink) == 0
