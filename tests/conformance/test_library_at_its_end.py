"""Finalization of a library after the last case: errors in it fail the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tiny_cases import tiny_cases

from diopigen.api import workspace
from diopigen.conformance.model import Case, CaseResult, Ending, Results
from diopigen.conformance.report.html import to_html
from diopigen.conformance.report.results import text, to_json, to_junit
from diopigen.conformance.run.merging import merge
from diopigen.conformance.run.reading import read_results
from diopigen.conformance.run.runner import CaseRunner, run
from diopigen.diagnostics import Failure, Sink
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
LEAK = "finalizeLibrary returns 3, not 0 (80 allocations were never freed)"


@pytest.fixture
def cases(interface: Interface) -> list[Case]:
    return [case for case in tiny_cases(interface, "Add") if case.axis == "plain"]


def run_with(
    fault: str, cases: list[Case], interface: Interface, library: Path, runtime: Path, jobs: int = 1
) -> Results:
    found = run(
        cases, interface, library, runtime, jobs=jobs, time_limit=2.0, environment={"TINY_FAULT": fault}
    )  # fmt: skip
    assert {result.outcome for result in found.results} == {"passed"}
    return found


def test_a_right_library_ends_in_silence(
    cases: list[Case], interface: Interface, tiny_library: Path, runtime: Path
) -> None:
    found = run_with("", cases, interface, tiny_library, runtime)
    assert found.endings == () and found.good
    assert "endings" not in json.loads(to_json(found))


def test_a_failing_start_is_told_in_the_words_of_the_library(
    cases: list[Case], interface: Interface, tiny_library: Path, runtime: Path
) -> None:
    with pytest.raises(Failure) as caught:
        run_with("no device", cases, interface, tiny_library, runtime)
    assert caught.value.diagnostics[0].message == f"initLibrary of {tiny_library} failed: the device is not there"


def test_a_failing_finalize_is_a_failure_of_the_run(
    cases: list[Case], interface: Interface, tiny_library: Path, runtime: Path
) -> None:
    found = run_with("leak", cases, interface, tiny_library, runtime)
    (ending,) = found.endings
    assert ending.message == LEAK and found.failures == () and not found.good
    lines = ending.printed.splitlines()
    assert (lines[0], lines[59], lines[60:]) == (
        "tiny: leak 1 of 80", "tiny: leak 60 of 80", ["... and 20 more lines"],
    ), "what calls print is not about the end"  # fmt: skip


def test_each_process_leaves_the_library(interface: Interface, tiny_library: Path, runtime: Path) -> None:
    several = tiny_cases(interface)  # enough for two processes
    found = run(several, interface, tiny_library, runtime, jobs=2, environment={"TINY_FAULT": "leak"})
    assert [ending.message for ending in found.endings] == [LEAK, LEAK]
    assert f"LIBRARY {LEAK} (in 2 processes)" in text(found)


def test_a_crash_at_the_end_is_told(cases: list[Case], interface: Interface, tiny_library: Path, runtime: Path) -> None:
    found = run_with("crash at the end", cases, interface, tiny_library, runtime)
    assert [ending.message for ending in found.endings] == ["the process ended with SIGABRT while the library was left"]


def test_a_hang_at_the_end_is_ended(cases: list[Case], interface: Interface, tiny_library: Path, runtime: Path) -> None:
    found = run_with("hang at the end", cases, interface, tiny_library, runtime)
    expected = "the library is not left within 2 s: finalizeLibrary hangs"
    assert [ending.message for ending in found.endings] == [expected]
    assert found.seconds < 60


def test_one_who_hands_out_cases_hears_of_it(
    cases: list[Case], interface: Interface, tiny_library: Path, runtime: Path
) -> None:
    runner = CaseRunner(cases, interface, tiny_library, runtime, environment={"TINY_FAULT": "leak"})
    assert runner.check(cases[0]).outcome == "passed"
    assert [ending.message for ending in runner.end()] == [LEAK]
    runner.close()


def results_with(*endings: Ending, shard: str = "") -> Results:
    case = Case(f"diopiAdd/float32/plain-{shard[:1]}", "diopiAdd", "binary", "float32", "plain", {})
    return Results((CaseResult(case, "passed", 0.5),), 0.5, 0, "libx.so", counts={"passed": 1}, endings=endings)


TWO = (Ending("finalizeLibrary returns 4, not 0", "leak at <0x7f01>\nof 16 bytes"), Ending("the process ended"))


def test_all_forms_of_a_report_name_it(interface: Interface, tmp_path: Path) -> None:
    results = results_with(*TWO)
    page = text(results)
    assert "LIBRARY finalizeLibrary returns 4, not 0\n  leak at <0x7f01>\n  of 16 bytes\n" in page
    assert page.endswith("1 passed; 2 processes did not end properly\n")
    assert json.loads(to_json(results))["endings"][0] == {
        "message": "finalizeLibrary returns 4, not 0", "printed": "leak at <0x7f01>\nof 16 bytes",
    }  # fmt: skip
    suites = {suite.get("name"): suite for suite in ElementTree.fromstring(to_junit(results).partition("?>")[2])}
    assert (suites["library"].get("tests"), suites["library"].get("errors")) == ("2", "2")
    error = suites["library"][0][0]
    assert (error.tag, error.get("message")) == ("error", "finalizeLibrary returns 4, not 0")
    assert error.text is not None and "leak at <0x7f01>" in error.text
    html = to_html(results, interface, workspace().templates)
    assert '<div class="verdict bad">' in html and "No case failed; 2 processes did not end properly" in html
    assert "leak at &lt;0x7f01&gt;\n  of 16 bytes" in html
    assert '<div class="verdict good">' in to_html(results_with(), interface, workspace().templates)


def test_results_of_several_machines_keep_it(tmp_path: Path) -> None:
    files = {}
    for shard, endings in (("a", TWO), ("b", ())):
        file = tmp_path / f"{shard}.json"
        file.write_text(to_json(results_with(*endings, shard=shard)), encoding="utf-8")
        files[str(file)] = read_results(file)
    sink = Sink()
    merged = merge(files, sink)
    assert not sink.has_errors and merged.endings == TWO and not merged.good


@pytest.mark.parametrize(
    "command",
    [
        ("-m", "diopigen", "conformance", "run", "--ops", "diopiAdd", "--dtype", "int32", "--axis", "plain"),
        pytest.param(
            ("-m", "diopigen", "conformance", "repro", "diopiAdd/int32/plain"), id="repro", marks=pytest.mark.slow
        ),
    ],
)
def test_commands_fail_and_name_it(command: tuple[str, ...], tiny_library: Path, runtime: Path) -> None:
    options = ("--lib", str(tiny_library), "--runtime", str(runtime), "--spec", str(ROOT / "specs"))
    for fault, status in (("leak", 1), ("", 0)):
        done = subprocess.run(
            [sys.executable, *command, *options],
            env={**os.environ, "TINY_FAULT": fault, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, done.stdout + done.stderr
        assert (f"LIBRARY {LEAK}\n  tiny: leak 1 of 80\n" in done.stdout) == bool(status)
