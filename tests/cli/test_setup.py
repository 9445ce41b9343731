"""A missing tool is one line that says what to install, with exit code 2 and nothing made."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_generate import ROOT

NEEDED = ("sh", "dirname", "python3", "gcc", "g++")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder that looks like a checkout, with the setup script alone."""
    (tmp_path / "project" / "tools").mkdir(parents=True)
    shutil.copy(ROOT / "tools/setup_environment.sh", tmp_path / "project" / "tools")
    return tmp_path / "project"


def run_with(tools: tuple[str, ...], project: Path) -> subprocess.CompletedProcess[str]:
    folder = project.parent / "bin"
    folder.mkdir()
    for name in tools:
        # The interpreter itself: what the PATH has may be a wrapper that needs other tools.
        found = str(Path(sys.executable).resolve()) if name == "python3" else shutil.which(name)
        assert found is not None, name
        (folder / name).symlink_to(found)
    return subprocess.run(
        [str(project / "tools/setup_environment.sh")],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("lacking", "line"),
    [
        ("python3", "diopigen: Python is missing: apt install python3 python3-venv\n"),
        ("g++", "diopigen: a C++ compiler is missing: apt install g++\n"),
        ("gcc", "diopigen: a C compiler is missing: apt install gcc\n"),
    ],
)
def test_a_missing_tool_is_one_line(lacking: str, line: str, project: Path) -> None:
    done = run_with(tuple(name for name in NEEDED if name != lacking), project)
    assert (done.returncode, done.stderr) == (2, line)
    assert not (project / ".venv").exists()


def test_an_old_python_is_named(project: Path) -> None:
    folder = project.parent / "bin"
    folder.mkdir()
    for name in ("sh", "dirname"):
        (folder / name).symlink_to(str(shutil.which(name)))
    old = folder / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.8.10"\n[ "$1" = -c ] && exit 1\nexit 0\n')
    old.chmod(0o755)
    done = subprocess.run(
        [str(project / "tools/setup_environment.sh")],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("diopigen: Python 3.10 or newer (Python 3.8.10 found) is missing: ")
    assert done.stderr.count("\n") == 1
