"""The executor: a confined library writes what it may alone, and a text of a library shows as one line."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny_cases import tiny_cases

from diopigen.cli import cli
from diopigen.conformance.run.execution import Execution
from diopigen.conformance.run.executor import executor_program
from diopigen.conformance.run.fields import FrameError, printable
from diopigen.conformance.run.frames import RawTensor
from diopigen.conformance.run.named_files import named_files
from diopigen.conformance.run.runner import run
from diopigen.ir.model import Interface

WRITING = r"""
#include <stdio.h>
#include <stdlib.h>
const char* diopiGetVendorName(void) { return "writer\033[2J"; }
int diopiRelu(void* ctx, void* out, const void* input) {
    FILE* file = fopen(getenv("WRITTEN"), "w");
    if (file != NULL) {
        fputs("here", file);
        fclose(file);
    }
    return 0;
}
"""


@pytest.fixture
def writing(tmp_path: Path) -> Path:
    source, library = tmp_path / "writing.c", tmp_path / "libwriting.so"
    source.write_text(WRITING)
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return library


@pytest.mark.parametrize(
    ("execution", "is_written"),
    [(Execution(), False), (Execution(is_confined=False), True), (Execution(writable=("{folder}",)), True)],
    ids=["confined", "unconfined", "allowed"],
)
def test_a_confined_library_writes_what_it_may(
    execution: Execution, is_written: bool, interface: Interface, writing: Path, runtime: Path, tmp_path: Path
) -> None:
    target = tmp_path / "out/file"
    target.parent.mkdir()
    if execution.writable:
        execution = Execution(writable=(str(target.parent),))
    cases = [case for case in tiny_cases(interface, "Relu") if case.axis == "plain"][:1]
    found = run(cases, interface, writing, runtime, environment={"WRITTEN": str(target)}, execution=execution)
    if found.in_force == () and execution.is_confined:
        pytest.skip("this system confines nothing")
    assert target.exists() == is_written
    assert found.vendor == "writer [2J"
    assert bool(found.in_force) == execution.is_confined


def test_a_board_needs_three_files_and_a_stream(
    tiny_library: Path, runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two pipes stand for the connection; the board has no program but the executor, no variable, and no other file."""
    here, board = tmp_path / "here", tmp_path / "board"
    for folder in (here, board):
        folder.mkdir()
        for file in (tiny_library, runtime):
            shutil.copy2(file, folder)
    shutil.copy2(executor_program(), board / "diopi-executor")
    monkeypatch.chdir(here)
    remote = f"cat | (cd {board} && env -i PATH=/missing ./diopi-executor) | cat"
    options = ["--lib", f"./{tiny_library.name}", "--runtime", f"./{runtime.name}", "--ops", "diopiRelu", "-j", "1"]
    report = tmp_path / "report.json"
    command = ["conformance", "run", *options, "--executor", shlex.join(["sh", "-c", remote])]
    done = CliRunner().invoke(cli, [*command, "--only", "axis=recipe", "--output", f"json={report}"])
    assert done.exit_code == 0, done.output
    outcomes = [case["outcome"] for case in json.loads(report.read_text())["cases"]]
    assert outcomes and set(outcomes) == {"passed"}
    (board / tiny_library.name).unlink()
    done = CliRunner().invoke(cli, command)
    assert "cannot open shared object file" in str(done.exception)


def test_files_that_variables_name_are_allowed(interface: Interface, tmp_path: Path) -> None:
    trace, each = tmp_path / "trace.json", tmp_path / "traces/trace-%p.json"
    environment = {"DIOPI_SIM_TRACE": str(trace), "DIOPI_VENDOR_LIBRARY": str(tmp_path / "libdiopi_impl.so")}
    assert named_files(interface, environment) == [str(trace)]
    assert trace.read_bytes() == b""
    assert named_files(interface, {"DIOPI_SIM_TRACE": str(each)}) == [str(each.parent)]


def test_a_text_of_a_library_is_one_line() -> None:
    assert printable(b"broken\n  passed 12\x1b[31m\xff") == "broken   passed 12 [31m\N{REPLACEMENT CHARACTER}"
    assert len(printable(b"x" * 100_000)) < 10_000


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [((4,), (1,), 1), ((2,), (4,), 0), ((-1,), (1,), 0), ((1,), (1,), -1), ((1,), (), 0)],
)
def test_an_allocated_tensor_stays_within_its_bytes(
    shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> None:
    import numpy as np

    with pytest.raises(FrameError):
        RawTensor(5, shape, strides, offset, np.zeros(16, dtype=np.uint8)).fetched({5: "float32"})
