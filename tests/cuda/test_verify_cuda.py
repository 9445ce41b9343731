"""The command for a machine with a GPU, rehearsed with the emulated library."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cpu_build import ROOT, shared_libraries

TOOL = ROOT / "tools/verify_cuda.py"


def verify(out: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, TOOL, "--out", out, "--jobs", "1", *words]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def rows(out: Path) -> dict[str, list[str]]:
    """The table of the page, by step."""
    lines = [line.split(" | ") for line in (out / "report.md").read_text().splitlines() if line.startswith("| ")]
    return {line[0].removeprefix("| "): [cell.removesuffix(" |") for cell in line[1:]] for line in lines[2:]}


@pytest.mark.slow
def test_a_page_says_what_was_shown(emulated: tuple[Path, Path], tmp_path: Path) -> None:
    """All steps but the large ones; what cannot run is named with its reason."""
    libraries = ("--runtime", emulated[0], "--lib", emulated[1])
    steps = [word for step in ("build", "cases", "streams", "sanitizer") for word in ("--only", step)]
    done = verify(tmp_path, *libraries, *steps, "--family", "activation")
    assert done.returncode == 0, done.stdout + done.stderr
    found = rows(tmp_path)
    assert list(found) == ["build", "cases", "streams", "sanitizer"]
    assert found["build"][0] == "not run" and found["build"][2].endswith("is taken as it is")
    assert found["cases"][0] == "good" and " passed" in found["cases"][2]
    assert found["streams"][0] == "good" and found["streams"][2] == "passed"
    if shutil.which("compute-sanitizer") is None:
        assert found["sanitizer"][::2] == ["not run", "no compute-sanitizer here: memory is not checked on the device"]
    report = (tmp_path / "report.md").read_text()
    assert "python -m diopigen conformance run --lib" in report and "--device cuda" in report


def test_a_step_that_fails_is_the_exit_code(emulated: tuple[Path, Path], generated: Path, tmp_path: Path) -> None:
    """The CPU library is not accepted as one for a GPU."""
    runtime, library = shared_libraries()
    done = verify(tmp_path, "--runtime", runtime, "--lib", library, "--only", "cases", "--family", "activation")
    assert done.returncode == 1
    assert rows(tmp_path)["cases"][0] == "FAILED"
    assert "the library is of 'cpu'" in done.stdout


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="a GPU may be there")
def test_a_machine_without_a_gpu_is_told_so(tmp_path: Path) -> None:
    done = verify(tmp_path / "none")
    assert done.returncode == 1
    assert done.stdout.startswith("no GPU here")
    assert not (tmp_path / "none").exists()
