"""Reports: whole texts for a small run."""

from __future__ import annotations

import json
from collections import Counter
from xml.etree import ElementTree

from diopigen.conformance.model import OUTCOMES, Case, CaseResult, Fault, Results
from diopigen.conformance.report.results import case_record, failure_text, repro, text, to_json, to_junit


def _case(case_id: str, family: str = "binary") -> Case:
    function, dtype, axis = case_id.split("/")
    return Case(case_id, function, family, dtype, axis, {})


def _results() -> Results:
    wrong = Fault("values", "out", "1 of 6 elements differ; worst [0, 2]: off by 0.5, allowed 1e-06", "2.0", "2.5")
    results = (
        CaseResult(_case("diopiAdd/float32/plain"), "passed", 0.25),
        CaseResult(_case("diopiAdd/int8/plain"), "failed", 0.5, (wrong,), ("out = int8[2, 3]", "alpha = 1 (int64)")),
        CaseResult(_case("diopiSub/int8/plain"), "missing", 0.0),
        CaseResult(
            _case("diopiSort/int8/plain", "sorting"), "crashed", 0.0, (Fault("crash", "", "ended with SIGSEGV\0"),)
        ),
        CaseResult(_case("diopiSort/int8/empty", "sorting"), "uncovered", 0.25),
    )
    counts = Counter(result.outcome for result in results)
    return Results(results, 1.5, 7, "libx.so", "acme", "2.0", {word: counts[word] for word in OUTCOMES})


TEXT = """\
FAILED diopiAdd/int8/plain
  values: out: 1 of 6 elements differ; worst [0, 2]: off by 0.5, allowed 1e-06
    expected 2.0
    actual   2.5
  out = int8[2, 3]
  alpha = 1 (int64)
  repeat with: diopigen conformance repro 'diopiAdd/int8/plain' --lib libx.so --seed 7

... and 1 more failures; write all of them with --json or --junit

family   functions  cases  passed  failed  crashed  missing  uncovered  seconds
-------------------------------------------------------------------------------
binary           2      3       1       1        .        1          .     0.75
sorting          1      2       .       .        1        .          1     0.25
-------------------------------------------------------------------------------
total            3      5       1       1        1        1          1     1.00

libx.so acme 2.0: 3 functions, 5 cases in 1.5 s: 1 passed, 1 failed, 1 crashed, 1 missing, 1 uncovered; seed 7
"""


def test_text() -> None:
    assert text(_results(), failures=1) == TEXT


def test_colour_only_where_it_is_asked_for() -> None:
    assert "\033" not in text(_results())
    coloured = text(_results(), colour=True)
    assert "\033[32m     1\033[0m" in coloured
    assert "\033[31m" in coloured


def test_a_crash_in_full() -> None:
    expected = (
        "CRASHED diopiSort/int8/plain\n  crash: ended with SIGSEGV\0\n"
        "  repeat with: diopigen conformance repro 'diopiSort/int8/plain' --lib libx.so --seed 7"
    )
    assert failure_text(_results().results[3], _results()) == expected


def test_a_case_is_repeated_with_what_the_run_took_into_account() -> None:
    results = Results((), 0.0, 0, "a b.so", runtime="rt.so", options=("--impl", "impl/acme", "--chip", "acme.yaml"))
    command = repro(_case("diopiAdd/int8/plain"), results)
    assert command.startswith("diopigen conformance repro 'diopiAdd/int8/plain' --lib 'a b.so' --runtime rt.so ")
    assert command.endswith(" --impl impl/acme --chip acme.yaml")


def test_json_holds_every_case() -> None:
    document = json.loads(to_json(_results()))
    assert document["counts"] == {
        "passed": 1, "declared": 0, "converted": 0,
        "excepted": 0, "failed": 1, "crashed": 1, "hung": 0, "nondeterministic": 0, "unimplemented": 0, "missing": 1,
        "uncovered": 1, "inapplicable": 0,
    }  # fmt: skip
    assert (document["library"], document["vendor"], document["seed"]) == ("libx.so", "acme", 7)
    assert document["cases"][0] == {
        "id": "diopiAdd/float32/plain", "function": "diopiAdd", "family": "binary", "dtype": "float32",
        "axis": "plain", "outcome": "passed", "seconds": 0.25,
    }  # fmt: skip
    assert document["cases"][1]["faults"][0]["actual"] == "2.5"
    assert case_record(_case("diopiAdd/float32/plain"))["axis"] == "plain"


def test_junit_can_be_read_and_counts() -> None:
    root = ElementTree.fromstring(to_junit(_results()).partition("?>")[2])
    suites = {suite.get("name"): suite for suite in root}
    assert {name: suite.get("tests") for name, suite in suites.items()} == {
        "diopiAdd": "2", "diopiSub": "1", "diopiSort": "2",
    }  # fmt: skip
    assert [suites["diopiAdd"].get(key) for key in ("failures", "errors", "skipped")] == ["1", "0", "0"]
    assert [suites["diopiSort"].get(key) for key in ("failures", "errors", "skipped")] == ["0", "1", "1"]
    failure = suites["diopiAdd"][1][0]
    assert failure.tag == "failure" and failure.text is not None and "expected 2.0" in failure.text
    skipped = suites["diopiSub"][0][0]
    assert (skipped.tag, skipped.get("message")) == ("skipped", "the library exports no such function")
    assert suites["diopiSort"][0][0].get("message") == "ended with SIGSEGV?"
