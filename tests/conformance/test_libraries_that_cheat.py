"""Libraries that pass for something that they are not: without code of their own, or with answers for results."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tiny_cases import tiny_cases

from diopigen.conformance.report.results import text
from diopigen.conformance.run.execution import CRASH_LIMIT
from diopigen.conformance.run.executor import UNREQUESTED
from diopigen.conformance.run.runner import run
from diopigen.diagnostics import Failure
from diopigen.ir.model import Interface
from lab.cheats import report
from lab.cheats.build import Workshop
from lab.cheats.campaign import Campaign
from lab.cheats.model import CONTROL, Cheat, Trial, cheats

ALL = cheats(["*"])


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("cheats"))


@pytest.fixture(scope="session")
def campaign(tmp_path_factory: pytest.TempPathFactory, runtime: Path) -> Campaign:
    return Campaign(tmp_path_factory.mktemp("cheats"), runtime)


def test_functions_of_a_library_that_it_needs_are_not_its_own(
    interface: Interface, workshop: Workshop, runtime: Path, tmp_path: Path
) -> None:
    """A process finds them by the handle of the library all the same."""
    empty = workshop.build(cheats(["needs_the_reference"])[0], tmp_path)
    cases = [case for case in tiny_cases(interface, "Relu") if case.axis == "plain"]
    results = run(cases, interface, empty, runtime, jobs=1)
    assert {result.outcome for result in results.results} == {"missing"}
    shown = text(results)
    assert "not tested, since only libraries that this one needs define them; name these with --lib: diopiRelu" in shown


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("garbage_to_every_descriptor", UNREQUESTED),
        ("forged_answers_in_a_call", "an answer ends before its fields do"),
    ],
)
def test_an_unrequested_answer_ends_the_process(
    name: str, message: str, interface: Interface, workshop: Workshop, runtime: Path, tmp_path: Path
) -> None:
    forger = workshop.build(cheats([name])[0], tmp_path)
    cases = [case for case in tiny_cases(interface, "Relu") if case.axis == "plain"][:3]
    results = run(cases, interface, forger, runtime, jobs=1)
    assert [result.outcome for result in results.results] == ["crashed"] * 3
    assert {result.faults[0].message for result in results.results} == {message}


def test_a_function_that_crashes_often_is_not_called_again(
    interface: Interface, tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_FAULT", "crash")
    cases = [case for case in tiny_cases(interface, "Add") if "/device-" not in case.id][: 2 * CRASH_LIMIT]
    others = [case for case in tiny_cases(interface, "Relu") if case.axis == "plain"]
    results = run([*cases, *others], interface, tiny_library, runtime, jobs=1)
    crashed = [result for result in results.results if result.outcome == "crashed"]
    called = [result for result in crashed if "SIGABRT" in result.faults[0].message]
    assert len(called) == CRASH_LIMIT < len(cases) == len(crashed)
    left = {result.faults[0].message for result in crashed if result not in called}
    assert left == {f"not called: diopiAdd has crashed {CRASH_LIMIT} times"}
    assert [result.outcome for result in results.results[len(cases) :]] == ["passed"] * len(others)


def test_each_source_states_what_it_tries_and_what_ends_it() -> None:
    tried = [cheat for cheat in ALL if cheat.kind != CONTROL]
    assert len(tried) >= 30
    assert [cheat.name for cheat in tried if not (cheat.kind and cheat.tries and cheat.ended_by)] == []
    for cheat in tried:
        re.compile(cheat.named)


def test_a_campaign_shows_what_a_cheat_achieves() -> None:
    cheat, right = cheats(["exit_in_a_call"])[0], cheats(["control_right"])[0]
    rejected = Trial(cheat, 1, "9 crashed", (), True, 1.0)
    accepted = Trial(cheat, 0, "9 passed", ("exit status 0",), True, 1.0)
    unnamed = Trial(cheat, 1, "9 crashed", (), False, 1.0)
    assert rejected.good and not accepted.good and not unnamed.good
    assert Trial(right, 0, "9 passed", ("exit status 0",), True, 1.0).good
    shown = report.text([accepted, unnamed, Trial(right, 1, "9 failed", (), True, 1.0)])
    assert "exit_in_a_call ends the process with the status of success in a call:\n  exit status 0\n" in shown
    assert "exit_in_a_call: the output does not match 'exit status 0'" in shown
    assert "2 cheats, 1 accepted, 1 not named, 3 s; the controls fail: control_right" in shown
    record = json.loads(report.to_json([accepted]))["cheats"][0]
    assert record["accepted"] and record["gains"] == ["exit status 0"] and not record["good"]


def test_a_glob_that_names_no_cheat_is_rejected() -> None:
    with pytest.raises(Failure) as caught:
        cheats(["exit_in_a_cal"])
    assert caught.value.diagnostics[0].code == "cheat-unknown"


@pytest.mark.slow
@pytest.mark.parametrize("cheat", ALL, ids=lambda cheat: cheat.name)
def test_no_cheat_is_accepted(cheat: Cheat, campaign: Campaign) -> None:
    trial = campaign.attempt(cheat)
    assert trial.good, report.text([trial])
