"""Runs that are killed and go on: what a recording holds, and that the merged report is that of one run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_damaged_json import damaged

from diopigen.cli import cli
from diopigen.conformance.model import Case, CaseResult, Ending, Fault, Results, Sentinel
from diopigen.conformance.run.merging import merge
from diopigen.conformance.run.reading import read_results
from diopigen.conformance.run.recorder import open_recording, read_recording
from diopigen.diagnostics import Failure, Sink

ROOT = Path(__file__).resolve().parents[2]
IDS = tuple(f"diopiAdd/int8/plain-{number}" for number in range(1, 6))
HEAD = Results(
    (), 0.0, 3, "libx.so", runtime="rt.so", options=("--chip", "c.yaml"), shard="1/2", expected=IDS,
    identity={"library": "5a", "spec": "5b", "settings": "5c"}, plan="9/ab",
)  # fmt: skip


def result(name: str, outcome: str = "passed", worker: int = 0) -> CaseResult:
    faults = (Fault("values", "out", "1 of 6 elements differ", "1", "2"),) if outcome == "failed" else ()
    case = Case(name, "diopiAdd", "elementwise_binary", "int8", "plain", {})
    return CaseResult(case, outcome, 0.25, faults, ("out = int8[2]",) if faults else (), worker=worker)


def recorded(path: Path, *results: CaseResult, head: Results = HEAD, sentinels: Sequence[Sentinel] = ()) -> Results:
    recorder, _ = open_recording(path, head)
    recorder.start({0: "worker 0", 1: "worker 1"})
    for one in results:
        recorder.add(one, "acme", "2.0")
    for sentinel in sentinels:
        recorder.add_sentinel(sentinel)
    recorder.close()
    return read_recording(path)


def message(caught: pytest.ExceptionInfo[Failure]) -> str:
    (found,) = caught.value.diagnostics
    return f"{found.code}: {found.message}"


def test_what_is_recorded_is_read(tmp_path: Path) -> None:
    path = tmp_path / "new" / "1.jsonl"
    found = recorded(path, result(IDS[2], "failed", 1), result(IDS[0]))
    assert [one.case.id for one in found.results] == [IDS[0], IDS[2]], "in the order of the cases"
    assert found.results[1] == result(IDS[2], "failed", 1)
    assert found.holes == (IDS[1], IDS[3], IDS[4]) and found.not_run == 3
    assert (found.vendor, found.library_version, found.seed, found.shard) == ("acme", "2.0", 3, "1/2")
    assert replace(HEAD, results=(), vendor="") == replace(
        found, results=(), seconds=0.0, counts={}, vendor="", library_version="", workers={}, not_run=0
    )
    assert read_results(path) == found
    again, known = open_recording(path, HEAD)
    again.start({0: "worker 0"})
    again.add(result(IDS[1]))
    again.add_ending(Ending("leaked", "text"))
    again.close()
    assert known == found
    found = read_recording(path)
    assert found.holes == IDS[3:] and found.endings == (Ending("leaked", "text"),)
    assert [one.worker for one in found.results] == [0, 4096, 1], "a card is that of its start"


def test_a_line_that_a_kill_has_cut_off_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    recorded(path, result(IDS[0]), result(IDS[1]))
    complete = path.read_bytes()
    start = complete[:-1].rindex(b"\n") + 1
    for cut in (start, start + 1, len(complete) - 1):
        path.write_bytes(complete[:cut])
        assert len(read_recording(path).results) == 1
        recorder, _ = open_recording(path, HEAD)
        recorder.add(result(IDS[1]))
        recorder.close()
        assert [one.case.id for one in read_recording(path).results] == list(IDS[:2])
    path.write_bytes(complete[:40])  # not even the head
    assert recorded(path, result(IDS[4])).results == (result(IDS[4]),)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"seed": 4}, "the seed is '3' there, and '4' here"),
        ({"identity": {**HEAD.identity, "library": "77"}}, "the digest of the library is '5a' there, and '77' here"),
        ({"identity": {**HEAD.identity, "spec": "77"}}, "the digest of spec and suite is '5b' there, and '77' here"),
        ({"identity": {**HEAD.identity, "settings": "7"}}, "the settings is '5c' there, and '7' here"),
        ({"plan": "8/ab"}, "the choice of cases is '9/ab 1/2' there, and '8/ab 1/2' here"),
        ({"shard": "2/2"}, "the choice of cases is '9/ab 1/2' there, and '9/ab 2/2' here"),
    ],
)
def test_a_recording_of_another_run_is_not_continued(change: dict[str, object], what: str, tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    recorded(path, result(IDS[0]))
    before = path.read_bytes()
    with pytest.raises(Failure) as caught:
        open_recording(path, replace(HEAD, **change))  # type: ignore[arg-type]
    assert message(caught) == f"report-mixed: holds results of another run: {what}"
    assert path.read_bytes() == before


def test_two_runs_do_not_write_to_one_recording(tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    recorder, _ = open_recording(path, HEAD)
    with pytest.raises(Failure) as caught:
        open_recording(path, HEAD)
    assert message(caught) == "output-locked: another run is writing to it"
    recorder.close()
    (tmp_path / "file").write_text("")
    with pytest.raises(Failure) as caught:
        open_recording(tmp_path / "file" / "1.jsonl", HEAD)
    assert message(caught).startswith("output-unwritable: ")


def test_damaged_recordings_are_described(tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    recorded(path, result(IDS[0], "failed"), sentinels=[Sentinel(0, "before", IDS[0], "passed", "5a")])
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines):
        for what, document in damaged(json.loads(line)):
            path.write_text("\n".join([*lines[:number], json.dumps(document), *lines[number + 1 :], ""]))
            try:
                read_recording(path)
            except Failure as fault:
                (finding,) = fault.diagnostics
                assert finding.code == "report-unreadable", what
                for word in ("TypeError", "NoneType", "dict", "subscript", "object has no attribute", "argument"):
                    assert word not in finding.message, (what, finding.message)
    for content in ("", "{}\n", '{"recording":2}\n', '{"recording":1}\nx\n', "[]\n"):
        path.write_text(content)
        with pytest.raises(Failure):
            read_recording(path)


def findings(parts: dict[str, Results], **options: bool) -> tuple[Results, list[str]]:
    sink = Sink()
    merged = merge(parts, sink, **options)
    return merged, [f"{one.span and one.span.file}: {one.severity}[{one.code}]: {one.message}" for one in sink.sorted()]


def test_holes_are_named(tmp_path: Path) -> None:
    part = recorded(tmp_path / "1.jsonl", result(IDS[0]), result(IDS[3]))
    merged, said = findings({"1.jsonl": part})
    assert said == [
        f"1.jsonl: error[report-hole]: 3 of 5 cases have no result: {IDS[1]}, {IDS[2]}, {IDS[4]}",
        "1.jsonl: error[report-shard-missing]: no file holds shard 2/2",
    ]
    merged, said = findings({"1.jsonl": part}, allow_missing=True)
    assert {line.split("[")[0] for line in said} == {"1.jsonl: warning"}
    assert (merged.holes, merged.not_run) == ((IDS[1], IDS[2], IDS[4]), 7), "with the 4 cases of the other shard"
    assert not merged.good


def test_the_same_case_twice_counts_once_and_a_conflict_is_named(tmp_path: Path) -> None:
    head = replace(HEAD, shard="", plan="5/ab")
    every = [result(name) for name in IDS]
    one = recorded(tmp_path / "1.jsonl", *every, head=head)
    merged, said = findings({"a": one, "b": one})
    assert (said, len(merged.results)) == ([], 5)
    two = recorded(tmp_path / "2.jsonl", *every[:4], result(IDS[4], "failed"), head=head)
    _, said = findings({"a": one, "b": two})
    assert said == [f"b: error[report-conflict]: {IDS[4]}: failed here and passed in a"]


def test_a_card_that_differs_over_all_files_leaves_holes(tmp_path: Path) -> None:
    def file(name: str, digest: str, *names: str) -> Results:
        head = replace(HEAD, shard="", plan="5/ab", expected=names)
        sentinel = Sentinel(0, "before", "diopiSub/int8/plain", "passed", digest)
        return recorded(tmp_path / name, *(result(one) for one in names), head=head, sentinels=[sentinel])

    parts = {"a": file("a", "5a", IDS[0]), "b": file("b", "77", *IDS[1:3]), "c": file("c", "5a", *IDS[3:])}
    merged, said = findings(parts)
    assert [line.split(":")[1].strip() for line in said] == ["error[card-suspect]", "error[report-hole]"]
    assert "worker 0: 1 sentinel case differ from most of the other 2 cards" in said[0]
    assert said[0].endswith("; 2 results do not count")
    assert merged.holes == IDS[1:3]
    merged, said = findings(parts, allow_missing=True)
    assert {line.split("[")[0] for line in said} == {"b: warning"}
    assert [one.discarded for one in merged.suspects] == [2]


# ---- runs that are killed -------------------------------------------------------------------------------------------


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def run_with_kills(command: Sequence[str], recording: Path, kills: Sequence[int], environment: dict[str, str]) -> int:
    """Starts a command again and again, until it has ended by itself: each time it is killed with all its processes
    once it has recorded so many more lines. Says how often it was killed."""
    killed = 0
    for more in (*kills, None):
        before = lines(recording)
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, start_new_session=True
        )
        while process.poll() is None and (more is None or lines(recording) < before + more):
            time.sleep(0.01 if more is not None else 0.1)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        _, errors = process.communicate()
        assert process.returncode in (0, 1, -signal.SIGKILL), errors.decode()
    return killed


def merged(folder: Path, name: str, *files: Path) -> tuple[str, bytes, bytes]:
    """The report of some files as text, JSON and JUnit."""
    forms = [folder / f"{name}.{form}" for form in ("json", "xml")]
    words = ["--no-times", "--json", str(forms[0]), "--junit", str(forms[1]), "--failures", "1000"]
    done = CliRunner().invoke(cli, ["conformance", "report", "merge", *map(str, files), *words])
    assert done.stderr == "", done.stderr
    return done.stdout, forms[0].read_bytes(), forms[1].read_bytes()


def killed_and_whole(
    folder: Path,
    library: Path,
    runtime: Path,
    ops: Sequence[str],
    shards: int,
    kills: dict[int, list[int]],
    at_once: int,
) -> int:
    """Asserts that shards that are killed and resumed give the report of one run, byte for byte. Says how often a
    process was killed."""
    names = [word for op in ops for word in ("--ops", op)]
    command = [
        sys.executable, "-m", "diopigen", "conformance", "run", "--lib", str(library), "--runtime", str(runtime),
        "--spec", str(ROOT / "specs"), "-j", "1", *names, "--resume",
    ]  # fmt: skip
    environment = {**os.environ, "TINY_FAULT": "slow"}
    whole = folder / "whole.jsonl"
    run_with_kills([*command, str(whole)], whole, (), environment)
    files = [folder / f"{index}.jsonl" for index in range(1, shards + 1)]

    def one(index: int) -> int:
        words = [*command, str(files[index]), "--shard", f"{index + 1}/{shards}"]
        return run_with_kills(words, files[index], kills.get(index, ()), environment)

    with ThreadPoolExecutor(at_once) as pool:
        killed = sum(pool.map(one, range(shards)))
    assert merged(folder, "whole", whole) == merged(folder, "shards", *files)
    return killed


@pytest.mark.slow
@pytest.mark.suite
def test_killed_shards_go_on_and_merge_to_the_report_of_one_run(
    tiny_library: Path, runtime: Path, tmp_path: Path
) -> None:
    killed = killed_and_whole(tmp_path, tiny_library, runtime, ["Add"], 2, {0: [40, 20]}, 2)
    assert killed == 2


@pytest.mark.slow
@pytest.mark.suite
def test_64_workers_with_random_kills(tiny_library: Path, runtime: Path, tmp_path: Path) -> None:
    chance = random.Random(64)
    kills = {index: [chance.randint(3, 9) for _ in range(chance.randint(0, 3))] for index in range(64)}
    ops = ["Add", "AddInp", "Relu", "Softmax", "LogicalNot", "MaskedSelect"]
    killed = killed_and_whole(tmp_path, tiny_library, runtime, ops, 64, kills, 4)
    assert killed > 32
