"""Workers on cards: their variables, sentinel cases that name a faulty card, repeats that name a kernel that varies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from diopigen.cli import cli
from diopigen.conformance.cases.suite import select
from diopigen.conformance.model import Sentinel, Suspect
from diopigen.conformance.run.cards import SENTINEL_AXES, WorkerPlan, sentinels, suspects
from diopigen.conformance.run.outputs import Output, digest_of
from diopigen.ir.model import Interface

CASE = "diopiAdd/float32/recipe-1"


def run(library: Path, runtime: Path, *words: str) -> Result:
    options = ["--lib", str(library), "--runtime", str(runtime), "--ops", "Add", "--dtype", "float32"]
    done = CliRunner().invoke(cli, ["conformance", "run", *options, *words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def outcomes(file: Path) -> dict[str, str]:
    return {case["id"]: case["outcome"] for case in json.loads(file.read_text())["cases"]}


def test_a_kernel_that_varies_is_named_and_never_passes(
    tiny_library: Path, runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_FAULT", "varies")
    once, twice, junit = tmp_path / "1.json", tmp_path / "2.json", tmp_path / "2.xml"
    run(tiny_library, runtime, "-j", "1", "--json", str(once))
    # Within the bound, so that nothing is wrong with a single call.
    assert outcomes(once)[CASE] == "passed"
    done = run(tiny_library, runtime, "-j", "1", "--repeat", "2", "--json", str(twice), "--junit", str(junit))
    assert done.exit_code == 1
    assert outcomes(twice)[CASE] == "nondeterministic"
    assert f"NONDETERMINISTIC {CASE}" in done.stdout
    assert "nondeterminism: out: run 2 of 2: 1 of 6 elements have other bytes; first [1, 0]: 0x" in done.stdout
    assert f"repeat '{CASE}'" not in done.stdout and "--repeat 10" in done.stdout
    assert "<failure message=" in junit.read_text()
    found = {name for name, outcome in outcomes(twice).items() if outcome == "nondeterministic"}
    assert found and all(outcomes(once)[name] in ("passed", "failed") for name in found)


def test_a_kernel_that_does_not_vary_passes_however_often(tiny_library: Path, runtime: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{count}.json" for count in (1, 3)]
    for count, file in zip((1, 3), files, strict=True):
        run(tiny_library, runtime, "-j", "1", "--repeat", str(count), "--json", str(file))
    assert outcomes(files[0]) == outcomes(files[1])


def test_a_faulty_card_is_named_and_its_cases_run_on_others(
    tiny_library: Path, runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    words = ("-j", "3", "--worker-env", "TINY_CARD={worker}", "--sentinels", "8")
    assert "suspect" not in run(tiny_library, runtime, *words, "--json", str(good)).stdout
    monkeypatch.setenv("TINY_BAD_CARD", "1")
    done = run(tiny_library, runtime, *words, "--json", str(bad), "--resume", str(tmp_path / "bad.jsonl"))
    assert done.exit_code == 1
    assert "CARD worker 1 (TINY_CARD=1): " in done.stdout
    assert "differ from most of the other 2 cards, first diopiAdd/" in done.stdout
    document = json.loads(bad.read_text())
    assert [one["card"] for one in document["suspects"]] == ["worker 1 (TINY_CARD=1)"]
    assert document["suspects"][0]["discarded"] > 0
    assert outcomes(bad) == outcomes(good)
    # The recording has the results of the other cards alone, and still names this one.
    done = CliRunner().invoke(cli, ["conformance", "report", "merge", str(tmp_path / "bad.jsonl")])
    assert "warning[card-suspect]" in done.stderr and "worker 1 (TINY_CARD=1): " in done.stderr
    lines = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert {"discard": 1} in lines


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("CARD", "write NAME=VALUE, such as CUDA_VISIBLE_DEVICES={worker}"),
        ("=3", "write NAME=VALUE, such as CUDA_VISIBLE_DEVICES={worker}"),
        ("CARD={rank}", "{rank} is not known; use {worker} or {shard}"),
    ],
)
def test_what_binds_no_worker_is_wrong_usage(tiny_library: Path, runtime: Path, word: str, message: str) -> None:
    done = run(tiny_library, runtime, "--worker-env", word)
    assert (done.exit_code, message in done.stderr) == (2, True)


def test_variables_of_a_worker() -> None:
    plan = WorkerPlan({"CARDS": "{worker}", "LOG": "w{worker}.log", "ALL": "1"})
    assert plan.environment(5) == {"CARDS": "5", "LOG": "w5.log", "ALL": "1"}
    assert plan.card(5) == "worker 5 (CARDS=5 LOG=w5.log ALL=1)"
    assert WorkerPlan().card(2) == "worker 2"


def test_sentinel_cases_are_the_same_for_every_shard(interface: Interface) -> None:
    cases = select(interface, families=["elementwise_binary", "reduction", "random", "indexing"])
    found = sentinels(cases, 30)
    assert len(found) == 30 == len({case.id for case in found})
    assert {case.family for case in found} == {"elementwise_binary", "reduction"}
    assert {case.axis for case in found} <= set(SENTINEL_AXES)
    assert len({case.function for case in found}) == 30
    assert sorted(case.id for case in sentinels(cases[::-1], 30)) == sorted(case.id for case in found)
    assert sentinels(cases, 0) == ()


def votes(*digests: str, after: str = "", outcome: str = "passed") -> dict[int, Suspect]:
    found = {
        card: [Sentinel(card, "before", CASE, "failed" if digest == "x" else outcome, digest)]
        for card, digest in enumerate(digests)
    }
    if after:
        found[0].append(Sentinel(0, "after", CASE, outcome, after))
    return suspects(found, {card: f"card {card}" for card in found}, {0: 4})


def test_which_cards_are_suspect() -> None:
    assert votes("a", "a", "a") == {}
    assert votes("a") == {}
    assert list(votes("a", "b", "a")) == [1]
    assert list(votes("x", "a")) == [0], "of two, the one whose result is wrong"
    assert list(votes("a", "b")) == [0, 1], "of two that are right and differ, either"
    assert list(votes("b", "a", "a", after="a")) == [0], "it has changed"
    assert votes("b", "a", "a", after="a")[0] == Suspect(
        "card 0", f"1 sentinel case changed in the course of the run, first {CASE}", (CASE,), 4
    )
    assert votes("a", after="b")[0].message.endswith(f"changed in the course of the run, first {CASE}")
    # A case that differs within most cards is no card's fault.
    found = {
        card: [Sentinel(card, phase, CASE, "passed", f"{card}{phase}") for phase in ("before", "after")]
        for card in range(3)
    }
    assert suspects(found, dict.fromkeys(found, ""), {}) == {}


def test_differences_of_outputs_in_words() -> None:
    one = Output("out", "float32", (2, 2), bytes(16))
    two = Output("out", "float32", (2, 2), bytes(9) + b"\x07" + bytes(6))
    assert one.difference(one) == ""
    expected = "1 of 4 elements have other bytes; first [1, 0]: 0x00000000, then 0x00070000"
    assert one.difference(two) == expected
    assert one.difference(Output("out", "int8", (16,), bytes(16))) == "it is int8[16], and was float32[2, 2]"
    assert Output("n", "", (), b"\1").difference(Output("n", "", (), b"\2")).endswith("first []: 0x01, then 0x02")
    assert digest_of(()) == "" and digest_of((one,)) != digest_of((two,))


def test_known_exceptions_are_no_sentinel_cases_and_settings_do_not_depend_on_hashes(
    tiny_library: Path, runtime: Path, tmp_path: Path
) -> None:
    known = tmp_path / "known.yaml"
    known.write_text(
        "skip:\n  - cases: diopiAdd/*/recipe-*\n    reason: hangs\n"
        "unsupported:\n  - functions: diopiAdd\n    dtypes: [float16, bfloat16, int8, int16]\n    reason: not planned\n"
    )
    recording = tmp_path / "1.jsonl"
    words = ["conformance", "run", "--lib", str(tiny_library), "--runtime", str(runtime), "--ops", "Add", "--axis"]
    words += ["plain", "--axis", "recipe", "--exceptions", str(known), "--sentinels", "3", "--resume", str(recording)]
    for number in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": number}
        done = subprocess.run(
            [sys.executable, "-m", "diopigen", *words], env=environment, capture_output=True, text=True
        )
        assert done.returncode in (0, 1) and "report-mixed" not in done.stderr, done.stderr
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    tested = {line["sentinel"] for line in lines if "sentinel" in line}
    assert len(tested) == 3 and not [name for name in tested if "recipe" in name or "float16" in name]
