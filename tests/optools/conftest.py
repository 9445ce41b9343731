"""The tests of optools: on the CPU, or on the device that OPTOOLS_TEST_DEVICE names.

The same tests run on droplet in tests/pytorch/test_optools_on_droplet.py. Nothing here knows any device by name. torch
is an optional extra: without it these tests are skipped with one line.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "optools/src"
sys.path[:0] = [str(SOURCES), str(Path(__file__).parent)]
DEVICE = os.environ.get("OPTOOLS_TEST_DEVICE", "cpu")

TORCH = importlib.util.find_spec("torch") is not None
collect_ignore_glob = (
    [] if TORCH else [name.name for name in Path(__file__).parent.glob("test_*.py") if "_without_" not in name.name]
)


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """The same numbers in each test, on one thread."""
    if not TORCH:
        return
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)


@pytest.fixture
def device() -> str:
    """The device that tests compute on."""
    return DEVICE


@pytest.fixture
def optools(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `python -m optools` with these words in an empty folder."""

    def run(*words: Any, code: int | None = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "optools", *map(str, words)]
        return run_python(command[1:], tmp_path, code, **variables)

    return run


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs python with these words in an empty folder."""

    def run(*words: Any, code: int | None = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        return run_python(list(map(str, words)), tmp_path, code, **variables)

    return run


def run_python(words: list[str], folder: Path, code: int | None, **variables: str) -> subprocess.CompletedProcess[str]:
    """Python in a folder; fails where the exit code is another one."""
    paths = [str(SOURCES), str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    own = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths), "OPTOOLS_TEST_DEVICE": DEVICE}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **own, **variables},
        capture_output=True,
        text=True,
    )
    assert code is None or done.returncode == code, done.stdout + done.stderr
    return done
