"""Shards and merged results, by the functions and by the commands."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_damaged_json import damaged

from diopigen.cli import cli
from diopigen.conformance.cases.suite import select
from diopigen.conformance.model import OUTCOMES, Case, CaseResult, Ending, Fault, Results, Waiver
from diopigen.conformance.report.results import to_json, to_junit
from diopigen.conformance.run.merging import merge
from diopigen.conformance.run.reading import read_results
from diopigen.conformance.run.shards import Shard, parse_shard, part, sample
from diopigen.diagnostics import Failure, Sink
from diopigen.findings.render import render
from diopigen.ir.model import Interface

WRONG = Fault("values", "out", "1 of 6 elements differ; worst [0, 2]", "2.0", "2.5")
WAIVER = Waiver("tolerance", "few bits", "known.yaml:3", 4.0)


def result(case_id: str, outcome: str = "passed", family: str = "binary", waiver: Waiver | None = None) -> CaseResult:
    function, dtype, axis = case_id.split("/")
    faults, operands = ((WRONG,), ("out = int8[2, 3]",)) if outcome == "failed" else ((), ())
    return CaseResult(Case(case_id, function, family, dtype, axis, {}, waiver=waiver), outcome, 0.25, faults, operands)


def results(*of: CaseResult, shard: str = "", seed: int = 0) -> Results:
    counts = Counter(one.outcome for one in of)
    every = {word: counts[word] for word in OUTCOMES}
    return Results(of, 1.5, seed, "libx.so", "acme", "2.0", every, "rt/libdiopirt.so", ("--chip", "x.yaml"), shard)


COMPLETE = (
    result("diopiAdd/float32/plain", "excepted", waiver=WAIVER),
    result("diopiAdd/int8/plain", "failed"),
    result("diopiSub/int8/plain", "missing"),
    result("diopiSort/int8/plain", family="sorting"),
)


def test_the_parts_are_the_whole_and_a_case_stays_in_its_part(interface: Interface) -> None:
    cases = select(interface, families=["elementwise_binary"])
    parts = [part(cases, Shard(index, 3)) for index in (1, 2, 3)]
    assert sorted(case.id for one in parts for case in one) == sorted(case.id for case in cases)
    assert all(len(cases) / 4 < len(one) < len(cases) / 2 for one in parts)
    assert part(cases, None) == cases
    # By the id alone: what else there is does not matter, and neither does the process or the machine.
    assert part(cases[::2], Shard(2, 3)) == [case for case in cases[::2] if case in parts[1]]
    assert [index for index in range(1, 6) if Shard(index, 5).holds("diopiAdd/float32/plain")] == [5]


def test_a_sample_has_cases_of_every_function_and_of_many_axes(interface: Interface) -> None:
    cases = select(interface, families=["elementwise_binary", "sorting"])
    for count in (1, 3):
        taken = sample(cases, count)
        every = Counter(case.function for case in cases)
        assert Counter(case.function for case in taken) == {name: min(count, of) for name, of in every.items()}
        assert taken == [case for case in cases if case in taken]
        assert sorted(case.id for case in taken) == sorted(case.id for case in sample(cases[::-1], count))
    three = [{case.axis for case in taken if case.function == name} for name in every]
    assert all(len(axes) == 3 for axes in three)  # no axis twice while another is left
    assert len({case.axis for case in sample(cases, 1)}) > 5  # nor the same axis of every function
    assert sample(cases, 10_000) == cases


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2", "1/2/3", "", "1 /2"])
def test_what_is_no_shard_is_rejected(text: str) -> None:
    with pytest.raises(Failure) as caught:
        parse_shard(text)
    assert caught.value.diagnostics[0].code == "bad-shard"


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    provided = results(*COMPLETE, shard="1/2", seed=7)
    path.write_text(to_json(provided), encoding="utf-8")
    assert read_results(path) == provided
    assert to_junit(read_results(path)) == to_junit(provided)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON: "),
        ("[]", "holds no results of a run: the document is a list, not an object"),
        ("{}", "holds no results of a run: the document has no 'cases'"),
        ('{"cases": [{"id": "a"}]}', "holds no results of a run: cases[0] has no 'outcome'"),
        ('{"cases": 3}', "holds no results of a run: cases is a number, not a list"),
        ("[" * 100_000, "is nested too deeply"),
        ("\0", "is not JSON: "),
    ],
)
def test_files_that_hold_no_results_are_rejected(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    if "outcome" in message:
        names = ("id", "function", "family", "dtype", "axis")
        content = json.dumps({"cases": [dict.fromkeys(names, "a")]})
    path.write_text(content, encoding="utf-8")
    with pytest.raises(Failure) as caught:
        read_results(path)
    assert caught.value.diagnostics[0].code == "report-unreadable"
    assert caught.value.diagnostics[0].message.startswith(message)


def test_a_case_that_a_file_has_twice_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    record = json.loads(to_json(results(*COMPLETE)))
    record["cases"].append(record["cases"][1])
    path.write_text(json.dumps(record))
    for words in (["show", str(path)], ["merge", str(path)]):
        done = CliRunner().invoke(cli, ["conformance", "report", *words])
        assert isinstance(done.exception, Failure)
        (finding,) = done.exception.diagnostics
        twice = record["cases"][1]["id"]
        assert finding.message == f"holds no results of a run: '{twice}' is there 2 times"


def test_merged_shards_are_the_whole() -> None:
    sink = Sink()
    one, two = results(*COMPLETE[::2], shard="1/2"), results(*COMPLETE[1::2], shard="2/2")
    merged = merge({"b.json": two, "a.json": one}, sink)
    assert len(sink) == 0
    assert merged == replace(results(*COMPLETE), seconds=3.0)


MIXED = """\
a.json: error[report-shard-missing]: no file holds shard 3/3
  fix: run it with --shard, then merge again
b.json: error[report-case-twice]: diopiAdd/float32/plain and 1 more cases is in a.json too
  fix: give each shard once
b.json: error[report-mixed]: the seed is '5' here and '0' in a.json
  fix: merge the results of one run
"""


def test_what_does_not_belong_together_is_named() -> None:
    sink = Sink()
    one, two = results(*COMPLETE, shard="1/3"), results(*COMPLETE[:2], shard="2/3", seed=5)
    merge({"a.json": one, "b.json": two}, sink)
    shown = render(sink.sorted(), "text").replace(":1:1:", ":").rpartition("\n3 errors")[0]
    assert shown.strip() == MIXED.strip()
    sink = Sink()
    merge({"a.json": results(COMPLETE[0], shard="1/2"), "b.json": results(COMPLETE[1])}, sink)
    assert [found.message for found in sink.sorted()] == ["holds no shard, others one of 2"]


def command(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["conformance", *arguments])
    assert done.exception is None or isinstance(done.exception, (SystemExit, Failure)), done.exception
    return done.exit_code, done.output


def test_the_commands_shard_run_merge_and_show(
    tiny_library: Path, runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_FAULT", "alpha ignored")
    provided = [
        "--lib",
        str(tiny_library),
        "--runtime",
        str(runtime),
        "--ops",
        "diopiAdd",
        "--dtype",
        "int32",
        "-j",
        "1",
    ]
    listed = [command("list", "--ops", "diopiAdd", "--dtype", "int32", "--shard", f"{i}/2")[1].split() for i in (1, 2)]
    assert all(listed)
    files = [str(tmp_path / name) for name in ("1.json", "2.json")]
    for index, file in enumerate(files, 1):
        command("run", *provided, "--shard", f"{index}/2", "--json", file)
        assert [case["id"] for case in json.loads(Path(file).read_text())["cases"]] == listed[index - 1]
    out = {form: str(tmp_path / f"all.{form}") for form in ("json", "junit", "html")}
    code, text = command("report", "merge", *files, *(part for form in out for part in (f"--{form}", out[form])))
    assert code == 1
    assert "FAILED diopiAdd/int32/recipe-1" in text
    document = json.loads(Path(out["json"]).read_text())
    assert sorted(case["id"] for case in document["cases"]) == sorted(listed[0] + listed[1])
    assert "shard" not in document
    assert "<testsuite " in Path(out["junit"]).read_text()
    assert "diopiAdd/int32/recipe-1" in Path(out["html"]).read_text()
    assert command("report", out["json"]) == (code, text)
    assert command("report", "--failures", "0", out["json"])[0] == 1
    code, text = command("report", "merge", files[0])
    assert (code, "no file holds shard 2/2" in text) == (1, True)


def test_results_with_a_value_missing_or_of_another_kind_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    record = json.loads(to_json(replace(results(*COMPLETE, shard="1/2"), endings=(Ending("leaked", "text"),))))
    for what, document in damaged(record):
        path.write_text(json.dumps(document))
        try:
            read_results(path)
        except Failure as fault:
            (finding,) = fault.diagnostics
            assert finding.code == "report-unreadable", what
            for word in ("TypeError", "NoneType", "dict", "subscript", "object has no attribute", "argument"):
                assert word not in finding.message, (what, finding.message)
