"""Faults injected into the tiny library: those that the suite looks for are found, and what is not found is named."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_cases import OPERATORS, tiny_cases

from diopigen.api import workspace
from diopigen.conformance.model import FAILURES, Case
from diopigen.conformance.report.causes import likely_causes
from diopigen.conformance.run.runner import slim
from diopigen.conformance.run.worker import Bench, Setup
from diopigen.diagnostics import Failure
from diopigen.ir.model import Interface
from lab.mutation.build import build
from lab.mutation.campaign import Campaign, selected
from lab.mutation.report import summary, text, to_json

pytestmark = pytest.mark.slow  # compiles a mutant library
ROOT = Path(__file__).resolve().parents[2]

# What the suite must find the fault as, in the first function that it is found in.
SAMPLE = {
    "one-element-in-a-thousand": "values",
    "vector-tail-unwritten": "values",
    "single-1e-4": "values",
    "double-through-single": "values",
    "int64-through-float32": "values",
    "int64-through-float64": "values",
    "nan-dropped": "values",
    "nan-injected": "values",
    "infinity-saturated": "values",
    "byte-past-the-end": "guard",
    "byte-before-the-start": "guard",
    "gap-written": "guard",
    "input-changed": "input changed",
    "in-place-into-temporary": "values",
    "input-strides-ignored": "values",
    "stride-0-taken-for-dense": "values",
    "alpha-ignored": "values",
    "refusals-lost": "status",
    "refusal-after-writing": "output of a failure",
    "abort-on-empty": "crash",
    "softmax-without-maximum": "values",
    "true-is-255": "bool byte",
    "allocated-output-missing": "missing output",
    "allocated-output-of-wrong-dtype": "dtype",
    "allocated-output-flat": "shape",
    "seed-from-clock": "reproducibility",
    "uniform-in-lower-half": "distribution",
}


@pytest.fixture(scope="session")
def mutant_library(interface: Interface, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mutant library of the tiny library's functions alone, as the whole interface takes long to compile."""
    names = {f"diopi{name}" for name in OPERATORS}
    headers = tuple(
        replace(header, functions=tuple(f for f in header.functions if f.name in names or f.family == "runtime"))
        for header in interface.headers
    )
    folder = tmp_path_factory.mktemp("mutant")
    return build(replace(interface, headers=headers), workspace(str(ROOT / "specs")).templates, folder, jobs=2)


def campaign_of(
    cases: list[Case], interface: Interface, tiny_library: Path, mutant_library: Path, runtime: Path
) -> Campaign:
    return Campaign(cases, interface, tiny_library, mutant_library, runtime, jobs=2)


@pytest.fixture(scope="session")
def campaign(interface: Interface, tiny_library: Path, mutant_library: Path, runtime: Path) -> Campaign:
    return campaign_of(tiny_cases(interface), interface, tiny_library, mutant_library, runtime)


def test_a_sample_of_faults_is_found_for_what_it_is(campaign: Campaign) -> None:
    assert campaign.unsound == []
    report = campaign.run(selected(campaign.found, list(SAMPLE)))
    found = {
        verdict.mutant.name: next((trial.found_as for trial in verdict.trials if trial.outcome == "killed"), "")
        for verdict in report.verdicts
    }
    assert found == {verdict.mutant.name: SAMPLE[verdict.mutant.name] for verdict in report.verdicts}
    assert len(found) == len(SAMPLE)
    assert report.strong, text(report)


def test_what_a_weak_suite_does_not_find_is_named(
    interface: Interface, tiny_library: Path, mutant_library: Path, runtime: Path
) -> None:
    cases = [case for case in tiny_cases(interface, "Add", "Relu") if case.axis == "plain"]
    weak = campaign_of(cases, interface, tiny_library, mutant_library, runtime)
    names = ["first-element-wrong", "nan-dropped", "failure-after-work", "alpha-ignored", "refusals-lost"]
    report = weak.run(selected(weak.found, names))
    outcomes = {verdict.mutant.name: verdict.outcome for verdict in report.verdicts}
    assert outcomes == {
        "first-element-wrong": "killed",
        "nan-dropped": "not reached",
        "failure-after-work": "killed",
        "alpha-ignored": "not reached",
        "refusals-lost": "not reached",
    }
    assert not report.strong
    shown = text(report)
    assert "nan-dropped (special values): NaN becomes 0; not reached: no case lets it act" in shown
    assert "2 of 5 faults of 4 kinds killed (40.0%), 2 of them wherever they act" in summary(report)
    assert summary(report).endswith("; 95% are needed")


def test_a_fault_that_acts_and_is_not_found_survives(
    interface: Interface, tiny_library: Path, mutant_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every answer is accepted by a suite whose cases expect any failure and get one.
    cases = [case for case in tiny_cases(interface, "Add") if case.id.startswith("diopiAdd/null-")]
    blind = campaign_of(cases, interface, tiny_library, mutant_library, runtime)
    monkeypatch.setattr("lab.mutation.campaign.FAILURES", frozenset())
    report = blind.run(selected(blind.found, ["null-refusals-lost"]))
    assert report.verdicts[0].outcome == "survived"
    assert "acts in 1 functions, not found in Add" in text(report)


def test_cases_that_fail_without_a_fault_do_not_count(
    interface: Interface, tiny_library: Path, mutant_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_FAULT", "alpha ignored")
    cases = tiny_cases(interface, "Add")
    campaign = campaign_of(cases, interface, tiny_library, mutant_library, runtime)
    assert "diopiAdd/float32/recipe-1" in campaign.unsound
    sound = {case.id for case in campaign.cases["diopiAdd"]}
    assert sound and sound.isdisjoint(campaign.unsound)
    # The tiny library has no second device, and cases about shared memory are left out.
    left_out = {case.id for case in cases if "/device-" in case.id or "/overlap-" in case.id}
    assert sound | set(campaign.unsound) == {case.id for case in cases} - left_out
    report = campaign.run(selected(campaign.found, ["first-element-wrong"]))
    assert f"{len(campaign.unsound)} cases fail without any fault" in text(report)


def test_the_json_names_the_case_that_found_a_fault(campaign: Campaign) -> None:
    record = json.loads(to_json(campaign.run(selected(campaign.found, ["true-is-255"]))))
    by_function = record["faults"][0]["functions"]
    assert by_function["diopiLogicalNot"]["outcome"] == "killed"
    assert by_function["diopiLogicalNot"]["case"].startswith("diopiLogicalNot/")
    assert by_function["diopiSoftmax"]["outcome"] == "not reached"


def test_a_name_that_no_fault_has_is_rejected_with_the_nearest_one(campaign: Campaign) -> None:
    with pytest.raises(Failure) as caught:
        selected(campaign.found, ["nan-droped"])
    assert caught.value.diagnostics[0].fix == "did you mean 'nan-dropped'?"


def test_every_fault_says_what_it_does_and_no_name_comes_twice(campaign: Campaign) -> None:
    names = [mutant.name for mutant in campaign.found]
    assert len(set(names)) == len(names) > 60
    assert len({mutant.kind for mutant in campaign.found}) >= 15
    assert all(mutant.sentence and mutant.sentence[-1] != "." for mutant in campaign.found)


CAUSES = {
    "input-strides-ignored": "strides",
    "alpha-ignored": "ignored-argument",
    "int64-through-float32": "integers-through-floats",
    "nan-dropped": "nan-lost",
    "nan-injected": "nan-created",
    "infinity-saturated": "infinity-lost",
    "single-1e-4": "low-precision",
    "double-through-single": "low-precision",
    "vector-tail-unwritten": "tail",
    "output-cleared-first": "in-place",
    "dtype-refusals-lost": "accepts-illegal",
    "abort-on-empty": "empty",
    "byte-past-the-end": "out-of-bounds",
}
"""Likely causes of faults in Add."""


@pytest.mark.parametrize("fault", CAUSES)
def test_the_likely_cause_of_a_fault_is_named(
    fault: str, interface: Interface, tiny_library: Path, mutant_library: Path, runtime: Path
) -> None:
    variables = {"DIOPI_MUTANT_TARGET": str(tiny_library), "DIOPI_MUTANT": fault, "DIOPI_MUTANT_ACTS": ""}
    names = slim(interface, {"diopiAdd"})
    bench = Bench(Setup(names, str(mutant_library), str(runtime), 0, 2.0, 0, environment=variables, stays=True))
    results = [bench.result(case) for case in tiny_cases(interface, "Add")]
    bench.end()
    failing = [result for result in results if result.outcome in FAILURES]
    kind, _ = Counter(result.faults[0].kind for result in failing).most_common(1)[0]
    evidence = [one for one in results if one.outcome not in FAILURES or one.faults[0].kind == kind]
    first = next(one for one in evidence if one.outcome in FAILURES)
    assert likely_causes(evidence, first)[0].code == CAUSES[fault]
