"""The history of runs: what it keeps, what it shows, how small it is; and its page in a browser."""

from __future__ import annotations

import datetime
import json
import math
import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import browser
import pytest
from click.testing import CliRunner, Result

from diopigen.api import workspace
from diopigen.cli import cli
from diopigen.conformance.history.page import to_html
from diopigen.conformance.history.store import CODES, opened, time_code, time_of
from diopigen.conformance.history.trends import text, trends
from diopigen.conformance.model import OUTCOMES, Case, CaseResult, Fault, Measured, Results, Suspect
from diopigen.conformance.report.results import to_json
from diopigen.diagnostics import Failure

WHEN = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.timezone.utc)
EVIL = "</script><img src=x onerror=alert(1)>"
FAULT = (Fault("values", "out", EVIL, "1", "2"),)


def run(outcomes: str, seconds: float = 0.1, ulp: float = 0.5, library: str = "5a", count: int = 3) -> Results:
    """A run of `count` cases of Add and one of Sub for each letter after: the outcomes by their codes."""
    names = {code: name for name, code in CODES.items()}
    results = []
    for number, code in enumerate(outcomes):
        function = "diopiAdd" if number < count else "diopiSub"
        case = Case(f"{function}/float32/recipe-{number}", function, "elementwise_binary", "float32", "recipe", {})
        errors = (Measured("float32", ulp, ulp / 2, 6),)
        results.append(CaseResult(case, names[code], seconds, FAULT if names[code] == "failed" else (), errors=errors))
    counts = Counter(one.outcome for one in results)
    identity = {"library": library * 32, "spec": "77" * 16, "settings": "1"}
    every = {outcome: counts[outcome] for outcome in OUTCOMES}
    return Results(tuple(results), 0.5, 0, "libx.so", "acme", "2.0", every, identity=identity)


def stored(path: Path, *runs: Results) -> Path:
    for day, one in enumerate(runs):
        with opened(path, create=True) as history:
            assert history.add(one, WHEN + datetime.timedelta(days=day), "node1") == day + 1
    return path


def test_outcomes_have_codes_that_differ_and_times_are_near() -> None:
    assert CODES.keys() == OUTCOMES.keys() and len(set(CODES.values())) == len(CODES)
    for seconds in (2e-6, 0.0004, 0.1, 3.0, 1800.0):
        assert math.isclose(time_of(time_code(seconds)), seconds, rel_tol=0.05)
    assert (time_code(0.0), time_code(1e9)) == (0, 255)


def test_what_is_added_is_there_once(tmp_path: Path) -> None:
    path = stored(tmp_path / "runs.sqlite", run("ppFp"))
    with opened(path, create=True) as history:
        assert history.add(run("ppFp"), WHEN) is None
        (one,) = history.runs()
        assert (one.at, one.host, one.vendor, one.version) == ("2026-01-31T12:00:00Z", "node1", "acme", "2.0")
        assert one.counts == {"passed": 3, "failed": 1}
        assert history.ids(one) == sorted(history.ids(one)) and len(history.ids(one)) == 4
        assert history.blob(one.outcomes) == b"ppFp"
        assert history.costs().keys() == set(history.ids(one))


def test_trends_name_what_changed(tmp_path: Path) -> None:
    path = stored(
        tmp_path / "runs.sqlite",
        run("pppFpp"),
        run("pNppFp", seconds=0.11),
        run("pppppp", seconds=0.09, library="5b"),
        run("ppFpFp", seconds=0.3, ulp=2.0, library="5b"),
        run("Fpppup", seconds=0.4, ulp=2.0, library="5b"),
    )
    with opened(path) as history:
        found = trends(history)
    assert [one["failing"] for one in found["runs"]] == [1, 2, 0, 2, 1]
    assert [one["nondeterministic"] for one in found["runs"]] == [0, 1, 0, 0, 0]
    add, sub = found["functions"]
    assert (add["name"], add["points"]) == (
        "diopiAdd",
        [[0, 3, 3, 0], [1, 3, 2, 1], [2, 3, 3, 0], [3, 3, 2, 1]],
    )
    assert add["ratio"] > 2.5
    assert sub["points"][0] == [0, 3, 2, 1]
    assert found["broken"] == [
        {"case": "diopiAdd/float32/recipe-0", "before": "passed", "outcome": "failed", "message": EVIL}
    ]
    assert [one["case"][-1] for one in found["fixed"]] == ["2", "4"]
    assert found["failing"] == [["diopiAdd/float32/recipe-0", "failed"]]
    # Within one and the same library.
    assert found["unsteady"] == [["diopiSub/float32/recipe-4", 3], ["diopiAdd/float32/recipe-2", 2]]
    assert found["drift"] == [
        ("diopiAdd", "float32", 0.5, 2.0, "2026-02-03T12:00:00Z"),
        ("diopiSub", "float32", 0.5, 2.0, "2026-02-03T12:00:00Z"),
    ]
    said = text(found)
    assert (
        "5 runs, 2026-01-31T12:00:00Z to 2026-02-04T12:00:00Z\nlatest: acme 2.0, 6 cases, 4 passed, 1 failing" in said
    )
    for line in (
        "newly failing: 1",
        "  diopiAdd/float32/recipe-2: 2 times",
        "slower than usual:",
        "0.5 to 2 since 2026",
    ):
        assert line in said


def test_an_empty_history_and_functions_that_come_and_go(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with opened(path, create=True) as history:
        assert trends(history)["runs"] == []
    assert "No runs" in to_html(trends_of(path), workspace().templates)
    stored(path, run("pppp"), run("ppp"))
    sub = trends_of(path)["functions"][1]
    assert (sub["points"], sub["seconds"]) == ([[0, 1, 1, 0], [1, 0, 0, 0]], None)


def trends_of(path: Path) -> dict[str, Any]:
    with opened(path) as history:
        return trends(history)


def command(*words: str) -> Result:
    done = CliRunner().invoke(cli, ["conformance", *words])
    assert done.exception is None or isinstance(done.exception, (SystemExit, Failure)), done.exception
    return done


def test_the_commands(tmp_path: Path) -> None:
    file, results, html = (str(tmp_path / name) for name in ("runs.sqlite", "1.json", "runs.html"))
    Path(results).write_text(to_json(run("ppFp")), encoding="utf-8")
    assert command("history", "add", file, results, "--at", "2026-01-31T12:00:00+00:00").stdout == f"{results}: run 1\n"
    assert command("history", "add", file, results).stdout == f"{results}: is there already\n"
    assert command("history", "add", file, results, "--at", "yesterday").exit_code == 2
    assert command("history", "show", file).stdout.startswith("1 runs, 2026-01-31T12:00:00Z to ")
    assert json.loads(command("history", "show", file, "--format", "json").stdout)["runs"][0]["cases"] == 4
    assert command("history", "page", file, "--out", html).stdout == f"{html}: 1 runs\n"
    assert "Conformance over time" in Path(html).read_text(encoding="utf-8")
    shown = json.loads(command("report", "balance", file, "--shards", "2", "--format", "json").stdout)
    assert (shown["cases"], shown["shards"]) == (4, 2)


@pytest.mark.parametrize("content", [None, b"{}", b"", b"SQLite format 3\0" + b"x" * 4096])
def test_what_is_no_history_is_described(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    if content is not None:
        path.write_bytes(content)
    done = command("history", "show", str(path))
    assert isinstance(done.exception, Failure)
    assert {one.code for one in done.exception.diagnostics} == {"history-unreadable"}


def test_a_full_disk_adds_nothing_and_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stored(tmp_path / "runs.sqlite", run("pppp"))
    names = [str(tmp_path / f"{number}.json") for number in range(2)]
    Path(names[0]).write_text(to_json(run("ppFp")), encoding="utf-8")
    Path(names[1]).write_text(to_json(run("Fppp" + "F" * 500, count=600)), encoding="utf-8")
    connect = sqlite3.connect

    def limited(*words: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*words, **named)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", limited)
        done = command("history", "add", str(path), *names)
    assert isinstance(done.exception, Failure) and done.output == ""
    (finding,) = done.exception.diagnostics
    assert (finding.code, finding.fix) == ("output-no-space", "free some space, then run the same command again")
    assert finding.message == f"cannot write '{path}': the disk is full"
    with opened(path) as history:
        assert len(history.runs()) == 1


def test_a_browser_draws_the_page(tmp_path: Path) -> None:
    path = stored(tmp_path / "runs.sqlite", run("pppp"), run("ppFp"))
    found = trends_of(path)
    found["runs"][1]["suspects"] = [Suspect("worker 3 (CARD=3)", "", ()).card]
    page = tmp_path / "runs.html"
    page.write_text(to_html(found, workspace().templates), encoding="utf-8")
    assert not re.findall(r'(?:src|href)="(?!#|data:,)', page.read_text().partition('<script id="data"')[0])
    drawn = browser.chromium(page.as_uri()).stdout
    shown = drawn.partition('<main id="page">')[2].partition("</main>")[0]
    assert ">1 of 4 cases fail in the latest run<" in drawn and "suspect card: worker 3 (CARD=3)" in drawn
    assert "&lt;img src=x" in shown and "<img" not in shown
    for text_shown in (">Newly failing<", "diopiAdd/float32/recipe-2", "polyline", "rect", ">diopiSub<"):
        assert text_shown in shown


def test_axe_has_no_serious_finding(tmp_path: Path) -> None:
    path = stored(tmp_path / "runs.sqlite", run("ppFp"), run("pNpF", ulp=2.0), run("Fppp", ulp=2.0))
    found = trends_of(path)
    assert all(found[name] for name in ("broken", "fixed", "failing", "unsteady", "drift"))
    found["runs"][2]["suspects"] = [Suspect("worker 3 (CARD=3)", "", ()).card]
    (tmp_path / "runs.html").write_text(to_html(found, workspace().templates), encoding="utf-8")
    assert browser.faults(browser.examined(tmp_path, ["runs.html"])) == []
