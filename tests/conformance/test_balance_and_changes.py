"""Shards that take equally long, and what changed between two runs."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from diopigen.cli import cli
from diopigen.commands.conformance_cards import division_of
from diopigen.conformance.model import OUTCOMES, Case, CaseResult, Fault, Measured, Results
from diopigen.conformance.report.changes import changes, text, to_record
from diopigen.conformance.report.results import to_json
from diopigen.conformance.run.balance import OVERHEAD, balance, balanced, estimated
from diopigen.conformance.run.identity import plan_of, planned

SHARDS = 64


def case(name: str, axis: str = "plain") -> Case:
    function, dtype, _ = name.split("/")
    return Case(name, function, "elementwise_binary", dtype, axis, {})


def results(*of: tuple[str, str], seconds: float = 0.25, ulp: float = 0.5) -> Results:
    wrong = (Fault("values", "out", "1 of 6 elements differ"),)
    found = tuple(
        CaseResult(case(name), outcome, seconds, wrong * (outcome == "failed"), errors=(Measured("int8", ulp, 0.1, 6),))
        for name, outcome in of
    )
    counts = Counter(one.outcome for one in found)
    return Results(found, 1.0, 0, "libx.so", "acme", "1", {outcome: counts[outcome] for outcome in OUTCOMES})


def test_64_shards_are_within_a_tenth_of_their_mean_also_when_times_vary() -> None:
    chance = random.Random(7)
    cases = [case(f"diopi{chance.randint(1, 400)}/int8/plain-{number}") for number in range(39_000)]
    # As in a run of the CPU library: most take a millisecond, some a second.
    costs = {one.id: chance.lognormvariate(-6.5, 1.3) for one in cases}
    parts = balanced(cases, costs, SHARDS)
    assert sorted(one.id for part in parts for one in part) == sorted(costs)
    assert balance(parts, costs).deviation < 0.01
    later = {name: seconds * chance.uniform(0.7, 1.3) for name, seconds in costs.items()}
    assert balance(parts, later).deviation < 0.1
    # A tenth of the cases is new; one of them alone takes a fifth of a shard.
    known = {name: seconds for name, seconds in costs.items() if chance.random() < 0.9}
    assert balance(balanced(cases, known, SHARDS), costs).deviation < 0.25
    assert balanced(cases[::-1], costs, SHARDS) != parts and plan_of(balanced(cases[::-1], costs, SHARDS)) == plan_of(
        parts
    )


def test_cases_without_a_cost_have_that_of_their_function() -> None:
    cases = [case("diopiA/int8/1"), case("diopiA/int8/2"), case("diopiB/int8/1"), case("diopiC/int8/1", "model")]
    found = [one - OVERHEAD for one in estimated(cases, {"diopiA/int8/1": 2.0})]
    assert found == pytest.approx([2.0, 2.0, 2.0, 100.0])
    assert balance([[], []], {}).deviation == 0
    assert planned(plan_of([cases, []])) == 4 and planned("") == 0
    assert plan_of([cases[:2], cases[2:]]) != plan_of([cases[:1], cases[1:]])


def test_parts_by_costs_and_by_failures(tmp_path: Path) -> None:
    file = tmp_path / "1.json"
    names = [f"diopiAdd/int8/plain-{number}" for number in range(8)]
    outcomes = ["passed", "failed", "crashed", "hung", "nondeterministic", "missing", "passed", "passed"]
    file.write_text(to_json(results(*zip(names, outcomes, strict=True))))
    cases = [case(name) for name in names]
    failing = division_of(None, None, str(file)).parts(cases)
    assert [one.id for one in failing.cases] == names[1:5] and failing.plan.startswith("4/")
    halves = [division_of(f"{index}/2", str(file), None).parts(cases) for index in (1, 2)]
    assert sorted(one.id for half in halves for one in half.cases) == names
    assert [len(half.cases) for half in halves] == [4, 4] and halves[0].plan == halves[1].plan


OLD = results(
    ("diopiA/int8/1", "passed"), ("diopiA/int8/2", "failed"), ("diopiA/int8/3", "failed"), ("diopiA/int8/4", "missing"),
    ("diopiA/int8/5", "passed"),
)  # fmt: skip
NEW = results(
    ("diopiA/int8/1", "failed"), ("diopiA/int8/2", "passed"), ("diopiA/int8/3", "hung"), ("diopiA/int8/4", "passed"),
    ("diopiB/int8/6", "passed"), ("diopiB/int8/7", "failed"), seconds=1.0, ulp=3.0,
)  # fmt: skip
SAID = """\
newly failing: 2
  diopiA/int8/1: passed -> failed: 1 of 6 elements differ
  diopiB/int8/7: new -> failed: 1 of 6 elements differ
fixed: 1
  diopiA/int8/2: failed -> passed
still failing: 1
with another outcome: 2
  diopiA/int8/3: failed -> hung
  diopiA/int8/4: missing -> passed
new, not failing: 1
not there any more: 1
larger errors, in ULP: 1
  diopiA int8: 0.5 -> 3
slower: 1
  diopiA: 1.00 s -> 4.00 s
"""


def test_what_changed_between_two_runs(tmp_path: Path) -> None:
    assert text(changes(OLD, NEW)) == SAID
    assert text(changes(OLD, OLD)) == "still failing: 2\n"
    assert text(changes(replace(OLD, results=()), replace(OLD, results=()))) == "no difference\n"
    record = to_record(changes(OLD, NEW))
    assert record["slower"] == [{"function": "diopiA", "before": 1.0, "now": 4.0}]
    files = [tmp_path / name for name in ("old.json", "new.json")]
    for file, one in zip(files, (OLD, NEW), strict=True):
        file.write_text(to_json(one))
    words = ["conformance", "report", "diff", *map(str, files)]
    done = CliRunner().invoke(cli, words)
    assert (done.exit_code, done.stdout) == (1, SAID)
    done = CliRunner().invoke(cli, [*words, "--format", "json"])
    assert (done.exit_code, json.loads(done.stdout)) == (1, record)
    assert CliRunner().invoke(cli, [*words[:3], str(files[0]), str(files[0])]).exit_code == 0


def test_the_balance_of_shards_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "1.json"
    file.write_text(to_json(results(*((f"diopiA/int8/{number}", "passed") for number in range(8)))))
    done = CliRunner().invoke(cli, ["conformance", "report", "balance", str(file), "--shards", "2"])
    first, second = done.stdout.splitlines()
    assert first == "2 shards of 8 cases by --costs: 1.01 to 1.01 s, 1.01 on average; at most 0.0% off"
    assert second.startswith("2 shards of 8 cases by ids: ")
    done = CliRunner().invoke(cli, ["conformance", "report", "balance", str(file), "--shards", "16"])
    assert "diopiA/int8/" in done.stdout.splitlines()[-1] and "more than a shard on average" in done.stdout
