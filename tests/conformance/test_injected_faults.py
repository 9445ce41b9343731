"""The whole suite against a small library: a right one passes everything, and each injected fault is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_cases import tiny_cases

from diopigen.conformance.cases.suite import select
from diopigen.conformance.model import Case, Results
from diopigen.conformance.report.results import to_json
from diopigen.conformance.run.runner import run
from diopigen.ir.model import Interface


def run_tiny(cases: list[Case], interface: Interface, library: Path, runtime: Path, **options: float) -> Results:
    limit = options.get("time_limit", 20.0)
    return run(cases, interface, library, runtime, jobs=1, time_limit=limit)


def faults_of(results: Results) -> dict[str, set[str]]:
    """Kinds of faults by function."""
    found: dict[str, set[str]] = {}
    for result in results.failures:
        found.setdefault(result.case.function, set()).update(fault.kind for fault in result.faults)
    return found


def test_a_right_library_passes_every_case(interface: Interface, tiny_library: Path, runtime: Path) -> None:
    cases = tiny_cases(interface)
    results = run_tiny(cases, interface, tiny_library, runtime)
    assert {result.case.id: result.faults for result in results.failures} == {}
    on_host = [case.id for case in cases if "/device-" in case.id]
    # The tiny library registers no device: nothing of it can be on the wrong one.
    assert results.counts["inapplicable"] == len(on_host) > 5
    assert results.counts["passed"] == len(cases) - len(on_host) > 200
    assert (results.vendor, results.library_version) == ("tiny", "1.0")
    assert {r.case.id: r.reason for r in results.results}["diopiAdd/C1/error"] == "alpha is not integral"
    assert '"reason": "alpha is not integral"' in to_json(results)


def test_a_function_that_is_not_there_is_missing_and_one_that_falls_back_is_unimplemented(
    interface: Interface, tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = run_tiny(select(interface, ops=["Neg"]), interface, tiny_library, runtime)
    assert {result.outcome for result in absent.results} == {"missing"}
    monkeypatch.setenv("TINY_FAULT", "no implementation")
    cases = [case for case in tiny_cases(interface, "Add") if case.axis == "plain"]
    unserved = run_tiny(cases, interface, tiny_library, runtime)
    assert [result.outcome for result in unserved.results] == ["unimplemented"] * len(cases)


@pytest.mark.parametrize(
    ("fault", "function", "kind"),
    [
        ("alpha ignored", "diopiAdd", "values"),
        ("one element", "diopiAdd", "values"),
        ("NaN dropped", "diopiAdd", "values"),
        ("int64 through float", "diopiAdd", "values"),
        ("saturation", "diopiAdd", "values"),
        ("input changed", "diopiAdd", "input changed"),
        # Its cases run again one by one, since memory was damaged.
        pytest.param("write past the end", "diopiAdd", "guard", marks=pytest.mark.slow),
        ("input restored", "diopiAdd", "input changed"),
        pytest.param("guard restored", "diopiAdd", "guard", marks=pytest.mark.slow),
        ("rounding left", "diopiAdd", "environment"),
        ("first thread", "diopiRelu", "values"),
        ("remembered", "diopiRelu", "state"),
        ("contiguous assumed", "diopiAdd", "guard"),
        ("missing status", "diopiAdd", "status"),
        ("dtype status missing", "diopiRelu", "status"),
        ("overlap accepted", "diopiAdd", "status"),
        ("overlap accepted", "diopiSoftmax", "status"),
        ("nothing written", "diopiRelu", "values"),
        ("failure after writing", "diopiRelu", "output of a failure"),
        ("bool byte", "diopiLogicalNot", "bool byte"),
        ("softmax without maximum", "diopiSoftmax", "values"),
        ("output missing", "diopiMaskedSelect", "missing output"),
        ("distribution", "diopiUniformInp", "distribution"),
        ("not reproducible", "diopiUniformInp", "reproducibility"),
        ("offset kept", "diopiUniformInp", "reproducibility"),
    ],
)
def test_an_injected_fault_is_found(
    fault: str,
    function: str,
    kind: str,
    interface: Interface,
    tiny_library: Path,
    runtime: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TINY_FAULT", fault)
    cases = tiny_cases(interface, function)
    found = faults_of(run_tiny(cases, interface, tiny_library, runtime))
    assert kind in found.get(function, set())


def test_a_crash_is_one_failed_case_with_its_reason_and_the_others_go_on(
    interface: Interface, tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_FAULT", "crash")
    crashing = [case for case in tiny_cases(interface, "Add") if case.axis in ("plain", "empty")]
    others = [case for case in tiny_cases(interface, "Relu") if case.axis == "plain"]
    results = run_tiny([*others[:1], *crashing, *others[1:]], interface, tiny_library, runtime)
    outcomes = {result.case.id: result.outcome for result in results.results}
    assert {outcomes[case.id] for case in crashing} == {"crashed"}
    assert {outcomes[case.id] for case in others} == {"passed"}
    assert "SIGABRT" in results.failures[0].faults[0].message
    assert results.failures[0].operands[0].startswith("out = ")


def test_a_library_that_ends_the_process_with_success_is_one_failed_case(
    interface: Interface, tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_FAULT", "exit")
    ending = [case for case in tiny_cases(interface, "Add") if case.axis == "plain"]
    others = [case for case in tiny_cases(interface, "Relu") if case.axis == "plain"]
    results = run_tiny([*ending, *others], interface, tiny_library, runtime)
    assert [result.outcome for result in results.results] == ["crashed"] * len(ending) + ["passed"] * len(others)
    assert results.failures[0].faults[0].message == "the process ended with exit status 0"


def test_a_hang_is_one_failed_case(
    interface: Interface, tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_FAULT", "hang")
    cases = [case for case in tiny_cases(interface, "Add") if case.id == "diopiAdd/float32/plain"]
    cases += [case for case in tiny_cases(interface, "Relu") if case.axis == "plain"]
    results = run_tiny(cases, interface, tiny_library, runtime, time_limit=0.7)
    assert [result.outcome for result in results.results] == ["hung"] + ["passed"] * (len(cases) - 1)
    assert results.results[0].faults[0].message == "the call has not returned within 0.7 s"


def test_exhausted_memory_is_one_failed_case(
    interface: Interface, tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_FAULT", "memory exhausted")
    cases = [case for case in tiny_cases(interface, "Relu") if case.id == "diopiRelu/float32/plain"]
    cases += [case for case in tiny_cases(interface, "Add") if case.axis == "plain"][:2]
    results = run(cases, interface, tiny_library, runtime, memory_limit=1 << 29)
    assert [result.outcome for result in results.results] == ["crashed", "passed", "passed"]


def test_two_workers_give_the_same_results_in_the_same_order(
    interface: Interface, tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_FAULT", "alpha ignored")
    cases = tiny_cases(interface)
    seen: list[tuple[int, int]] = []
    one = run(cases, interface, tiny_library, runtime, jobs=1)
    two = run(
        cases, interface, tiny_library, runtime, jobs=2, progress=lambda done, total, result: seen.append((done, total))
    )
    assert [(r.case.id, r.outcome, r.faults) for r in one.results] == [
        (r.case.id, r.outcome, r.faults) for r in two.results
    ]
    assert seen == [(number, len(cases)) for number in range(1, len(cases) + 1)]
    failed = next(result for result in one.failures if result.case.id == "diopiAdd/float32/recipe-1")
    assert failed.operands[1].startswith("input = float32[2, 3]: ")
    assert failed.operands[3] == "alpha = 2 (int64)"


def test_another_seed_gives_other_numbers(
    interface: Interface, tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_FAULT", "alpha ignored")
    case = [case for case in tiny_cases(interface, "Add") if case.id == "diopiAdd/float32/recipe-1"]
    first, second = (run(case, interface, tiny_library, runtime, seed=seed).failures[0] for seed in (1, 2))
    assert first.operands[0] == second.operands[0]
    assert first.operands[1] != second.operands[1]
