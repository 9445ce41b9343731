"""Ctrl-C in a long run: what finished is reported and written, and the exit code tells that the run is not complete."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import SUITE

from diopigen.conformance.model import Case, CaseResult, Results
from diopigen.conformance.report.results import text, to_json, to_junit
from diopigen.conformance.run.reading import read_results

ROOT = Path(__file__).resolve().parents[2]


def _interrupt_once(
    command: tuple[str, ...], ready: Path, fault: str, tmp_path: Path
) -> subprocess.CompletedProcess[str]:
    """Starts a command in a process group of its own and sends SIGINT to the group as soon as `ready` is there."""
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        environment = {**os.environ, "TINY_FAULT": fault, "TINY_READY": str(ready)}
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment, start_new_session=True)
        while not ready.exists() and process.poll() is None:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        code = process.wait()
    return subprocess.CompletedProcess(
        command, code, (tmp_path / "out").read_text(), (tmp_path / "err").read_text()
    )  # fmt: skip


def test_the_table_so_far_the_files_and_130(tmp_path: Path, tiny_library: Path, runtime: Path) -> None:
    files = [tmp_path / name for name in ("all.json", "all.xml", "all.html")]
    options: tuple[str, ...] = (
        "--lib",
        str(tiny_library),
        "--runtime",
        str(runtime),
        "--spec",
        str(ROOT / "specs"),
        "-j",
        "1",
    )
    forms = [word for form, path in zip(("json", "junit", "html"), files, strict=True) for word in (f"--{form}", path)]
    options += ("--executor", f"writable={tmp_path}")
    command = (*SUITE, *options, "--ops", "Add", "--ops", "Relu", *map(str, forms))
    done = _interrupt_once(command, tmp_path / "ready", "wait in add", tmp_path)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert "interrupted: " in done.stdout and "diopiRelu" not in done.stderr
    record = json.loads(files[0].read_text())
    assert record["not_run"] > 0
    assert record["counts"]["passed"] > 0
    assert {case["function"] for case in record["cases"]} == {"diopiRelu"}
    assert "was interrupted" in files[1].read_text()
    assert "interrupted, " in files[2].read_text()
    assert read_results(files[0]).not_run == record["not_run"]


@pytest.mark.slow
def test_a_case_repeated_alone_ends_with_130_too(tmp_path: Path, tiny_library: Path, runtime: Path) -> None:
    options: tuple[str, ...] = ("--lib", str(tiny_library), "--runtime", str(runtime), "--spec", str(ROOT / "specs"))
    options += ("--executor", f"writable={tmp_path}")
    command = (sys.executable, "-m", "diopigen", "conformance", "repro", "diopiAdd/float32/plain", *options)
    done = _interrupt_once(command, tmp_path / "ready", "wait in add", tmp_path)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "diopigen: interrupted\n"


@pytest.fixture
def partial() -> Results:
    case = Case("diopiAdd/int8/plain", "diopiAdd", "binary", "int8", "plain", {})
    return Results((CaseResult(case, "passed", 0.5),), 0.5, 0, "libx.so", counts={"passed": 1}, not_run=7)


def test_an_interrupted_run_is_not_good(partial: Results) -> None:
    assert not partial.good
    assert text(partial).endswith("1 passed; interrupted: 7 cases were not run\n")
    assert json.loads(to_json(partial))["not_run"] == 7
    assert "the run was interrupted: 7 cases were not run" in to_junit(partial)
