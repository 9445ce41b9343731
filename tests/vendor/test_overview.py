"""The page on a vendor's library: what it concludes from reports, the timeline of a trace, and the command."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import browser
import pytest
from click.testing import CliRunner, Result

from diopigen.api import workspace
from diopigen.cli import cli
from diopigen.conformance.model import Case, CaseResult, Ending, Fault, Measured, Results
from diopigen.conformance.report.accuracy import Row
from diopigen.conformance.report.results import to_json
from diopigen.diagnostics import Failure
from diopigen.vendor.coverage import Coverage, FunctionCoverage, ModelCoverage, Suggestion
from diopigen.vendor.coverage_file import read_report
from diopigen.vendor.overview import families, next_steps, to_html
from diopigen.vendor.timeline import COLOURS, MOST, Event, read_trace, timeline

EVIL = "</script><img src=x onerror=alert(1)> {{ 7 * 7 }}"
FAMILIES = {"diopiAdd": "elementwise_binary", "diopiNew": "sorting"}
COVERAGE = Coverage(
    "acme",
    (
        FunctionCoverage("diopiAdd", "elementwise_binary", "native", False),
        FunctionCoverage("diopiSub", "elementwise_binary", "fallback", False),
        FunctionCoverage("diopiAllReduce", "collective", "missing", False),
    ),
    (
        ModelCoverage("far", "", {"native": 1, "fallback": 3}, (), ("diopiSub", "diopiMul"), ()),
        ModelCoverage("near", "", {"native": 9, "fallback": 1}, (), ("diopiSub",), ()),
        ModelCoverage("stuck", "", {"missing": 1}, ("diopiOfTomorrow",), (), ()),
        ModelCoverage("ready", "", {"native": 1}, (), (), ()),
    ),
    (Suggestion("diopiSub", "fallback", ("far", "near"), 0.123),),
)


def run(*outcomes: str, endings: tuple[Ending, ...] = (), not_run: int = 0) -> Results:
    """Cases of Add, and of New from the third on."""
    results = []
    for number, outcome in enumerate(outcomes):
        function = "diopiAdd" if number < 2 else "diopiNew"
        case = Case(f"{function}/float32/recipe-{number}", function, FAMILIES[function], "float32", "recipe", {})
        faults = (Fault("values", "out", EVIL),) if outcome == "failed" else ()
        results.append(CaseResult(case, outcome, 0.1, faults, errors=(Measured("float32", 3.5, 0.5, 6),)))
    counts = Counter(one.outcome for one in results)
    return Results(tuple(results), 0.5, 0, "lib/x.so", "acme", "2.0", counts, "rt.so", endings=endings, not_run=not_run)


def test_families_have_the_cases_of_all_runs_and_their_functions_by_state() -> None:
    runs = {"one": run("passed", "failed", "passed"), "two": run("passed", "crashed")}
    found = {family.name: family for family in families(runs, COVERAGE)}
    assert list(found) == ["elementwise_binary", "collective", "sorting"]
    add, collective, new = found.values()
    assert (add.functions, add.kernels, add.cases, add.failing) == (2, 1, 4, 2)
    assert (add.states, add.outcomes) == (
        {"native": 1, "fallback": 1},
        {"passed": 2, "failed": 1, "crashed": 1},
    )
    assert (collective.functions, collective.cases, collective.states) == (1, 0, {"missing": 1})
    assert (new.functions, new.kernels, new.cases, new.failing) == (1, 0, 1, 0)
    assert [family.functions for family in families(runs, None)] == [1, 1]


def test_what_is_next_begins_with_failures_and_has_commands() -> None:
    runs = {"one": run("passed", "failed", "hung", "failed", endings=(Ending("it leaks"),), not_run=1)}
    steps = next_steps(runs, COVERAGE, [])
    assert [(step.text, step.bad) for step in steps] == [
        (
            "diopiNew: 2 cases of the run one failed, diopiNew/float32/recipe-2 first: "
            "the call did not return within the time limit",
            True,
        ),
        (f"diopiAdd: 1 case of the run one failed, diopiAdd/float32/recipe-1 first: {EVIL}", True),
        ("The run one: it leaks", True),
        ("The run one was interrupted: 1 case did not run", True),
        ("stuck cannot run: nothing serves diopiOfTomorrow", True),
        ("near runs on the device once it has 1 kernel more: diopiSub", False),
        ("far runs on the device once it has 2 kernels more: diopiSub, diopiMul", False),
        ("Write Sub: 12.3% of the calls of the models (far, near)", False),
    ]
    assert [step.command for step in steps if step.command] == [
        "diopigen conformance repro 'diopiNew/float32/recipe-2' --lib lib/x.so --runtime rt.so",
        "diopigen conformance repro 'diopiAdd/float32/recipe-1' --lib lib/x.so --runtime rt.so",
        "diopigen scaffold --vendor acme --out . --ops Sub",
    ]
    assert next_steps({"one": run("passed", "passed")}, None, []) == []


def test_kernels_that_are_less_exact_than_the_reference_are_named() -> None:
    def row(function: str, worst: float, reference: float) -> Row:
        return Row(function, "float32", worst, 0.5, 6, f"{function}/float32/x", {"reference": (reference, 0.1)})

    rows = [row("diopiAdd", 8.0, 2.0), row("diopiAdd", 2.0, 1.5), row("diopiAdd", 0.9, 0.1), row("diopiSub", 99.0, 1.0)]
    own = [step.text for step in next_steps({"one": run("passed")}, COVERAGE, rows) if "ULP" in step.text]
    assert own == ["diopiAdd in float32 is off by 8.00 ULP in diopiAdd/float32/x; the reference library is off by 2.00"]
    every = [step.text.split()[0] for step in next_steps({"one": run("passed")}, None, rows)]
    assert every == ["diopiSub", "diopiAdd"], "without coverage any function may be the vendor's, the worst first"


def test_long_pauses_take_the_width_of_the_mean_call() -> None:
    # Busy from 0 to 15 and from 1000 to 1005: 20 in two spans, so that a pause is at most 10 of 30 in all.
    events = [Event("b", "x", 0.0, 10.0), Event("a", "y", 5.0, 10.0), Event("b", "x", 1000.0, 5.0)]
    drawn = timeline(events)
    assert drawn is not None
    assert (drawn.time, drawn.busy, drawn.pause, drawn.events, drawn.shown) == (1005.0, 20.0, 10.0, 3, 3)
    lanes = {lane: [(round(box.x), round(box.width)) for box in boxes] for lane, boxes in drawn.lanes}
    assert lanes == {"a": [(167, 333)], "b": [(0, 333), (833, 167)]}
    assert [(one.name, one.calls, one.time, one.longest, one.colour) for one in drawn.totals] == [
        ("x", 2, 15.0, 10.0, 0),
        ("y", 1, 10.0, 10.0, 1),
    ]
    assert timeline([]) is None


def test_many_kernels_share_the_last_colour_and_many_calls_are_cut() -> None:
    events = [Event("a", f"kernel{number % 20}", 2.0 * number, 1.0) for number in range(MOST + 5)]
    drawn = timeline(events)
    assert drawn is not None and (drawn.events, drawn.shown) == (MOST + 5, MOST)
    ((_, boxes),) = drawn.lanes
    assert len(boxes) == MOST and max(box.x + box.width for box in boxes) <= 1000.9
    assert [one.colour for one in drawn.totals] == [*range(COLOURS), *([COLOURS] * 12)]
    at_once = timeline([Event("a", "x", 3.0, 0.0)])
    assert at_once is not None and at_once.busy == 0.0


TRACE: dict[str, Any] = {
    "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 3, "tid": 0, "args": {"name": "device 3"}},
        {"ph": "M", "name": "thread_name", "pid": 3, "tid": 1, "args": {"name": "stream 1"}},
        {"ph": "X", "name": "diopiMm", "pid": 3, "tid": 1, "ts": 7.5, "dur": 2, "args": {}},
        {"ph": "i", "name": "mark", "pid": 3, "tid": 1, "ts": 7},
        {"ph": "X", "name": "copy", "pid": 4, "tid": 0, "ts": 1, "dur": 0.5},
    ]
}


def test_a_trace_is_read_in_the_order_of_time(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    expected = (Event("4, 0", "copy", 1.0, 0.5), Event("device 3, stream 1", "diopiMm", 7.5, 2.0))
    for document in (TRACE, TRACE["traceEvents"]):
        path.write_text(json.dumps(document))
        assert read_trace(path) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        (json.dumps(TRACE) + json.dumps(TRACE), "is not JSON: Extra data"),
        ("{}", "is no trace: the document has no 'traceEvents'"),
        ("[3]", "is no trace: [0] is a number, not an object"),
        ('[{"ph": "X", "name": "x", "pid": 0, "tid": 0, "ts": "0", "dur": 1}]', "[0].ts is '0', not a number"),
        ('[{"ph": "X", "name": "x", "pid": 0, "tid": 0, "ts": 0}]', "is no trace: [0] has no 'dur'"),
        ('[{"ph": "X", "name": "x", "pid": 0, "tid": 0, "ts": 0, "dur": -1}]', "is no trace: [0].dur is below 0"),
    ],
)
def test_what_is_no_trace_is_described(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises(Failure) as fault:
        read_trace(path)
    (finding,) = fault.value.diagnostics
    assert finding.code == "trace-file" and message in finding.message and "%p" in (finding.fix or "")


def test_coverage_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "coverage.json"
    path.write_text(json.dumps(COVERAGE.as_json()))
    assert read_report(path) == COVERAGE
    report = COVERAGE.as_json()
    report["functions"][1]["state"] = "fine"
    path.write_text(json.dumps(report))
    with pytest.raises(Failure) as fault:
        read_report(path)
    assert "functions[1].state is 'fine', not one of native, shim" in fault.value.diagnostics[0].message


def reports(folder: Path) -> list[str]:
    """The words of the command for two runs with all reports."""
    (folder / "native.json").write_text(to_json(run("passed", "failed", "passed")))
    (folder / "sample.json").write_text(to_json(run("passed", "unimplemented", "hung")))
    (folder / "coverage.json").write_text(json.dumps(COVERAGE.as_json()))
    (folder / "trace.json").write_text(json.dumps(TRACE))
    (folder / "pages").mkdir()
    words = [str(folder / "native.json"), str(folder / "sample.json"), "--coverage", str(folder / "coverage.json")]
    words += ["--trace", str(folder / "trace.json"), "--link", "../conformance.html"]
    return [*words, "--out", str(folder / "pages/index.html")]


def command(*words: str) -> Result:
    return CliRunner().invoke(cli, ["overview", *words])


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    words = reports(tmp_path)
    done = command(*words)
    assert (done.exit_code, done.output) == (0, words[-1] + "\n")
    text = Path(words[-1]).read_text(encoding="utf-8")
    for shown in (
        "<title>acme 2.0: overview</title>",
        "<strong>2 of 6 cases failed</strong>",
        "1 of 3 functions have a kernel; 3 of 4 models run",
        '<b class="bad">1 failed</b>',
        "stuck cannot run: nothing serves diopiOfTomorrow",
        '<td class="text">near</td><td class="text">runs, in part on the host</td><td>10</td><td>90.0 %</td>',
        "<td>3.50</td>",
        "diopiMm, 2.000 µs, at 6.500 µs",
        '<a href="../conformance.html">conformance</a>',
        "&lt;img src=x onerror=alert(1)&gt; {{ 7 * 7 }}",
    ):
        assert shown in text, shown
    assert "<img" not in text and "<script" not in text and "http" not in text


def test_only_results_are_needed_and_two_runs_need_two_names(tmp_path: Path) -> None:
    words = reports(tmp_path)
    assert command(words[0], "--out", words[-1]).exit_code == 0
    text = Path(words[-1]).read_text(encoding="utf-8")
    assert [part for part in ('id="models"', 'id="timeline"', "by state") if part in text] == []
    done = command(words[0], words[0], "--out", words[-1])
    assert done.exit_code == 2 and "two files have the same" in done.output
    done = command(words[3], "--out", words[-1])
    assert isinstance(done.exception, Failure) and done.exception.diagnostics[0].code == "report-unreadable"
    assert Path(words[-1]).read_text(encoding="utf-8") == text, "a command that fails writes nothing"


def test_nothing_to_do_is_said() -> None:
    page = to_html({"all": run("passed")}, None, (), {}, workspace().templates).decode()
    assert "Nothing: every case passes" in page and "<strong>No case failed</strong>" in page
    ended = to_html({"all": run("passed", not_run=2)}, None, (), {}, workspace().templates).decode()
    assert 'class="verdict bad"' in ended and "2 cases did not run" in ended and "No case failed" not in ended


def test_axe_has_no_serious_finding(tmp_path: Path) -> None:
    words = reports(tmp_path)
    assert command(*words).exit_code == 0
    assert browser.faults(browser.examined(tmp_path / "pages", ["index.html"])) == []
