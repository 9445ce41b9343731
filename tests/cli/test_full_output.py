"""Standard output that cannot be written is described, and is no fault of diopigen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FULL = Path("/dev/full")
MESSAGE = """error[output-no-space]: cannot write to 'standard output': the disk is full
  fix: free some space, then run the same command again
1 error
"""


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["explain", "diopiAdd"],
        ["explain", "diopiNothing", "--format", "json"],
        ["conformance", "list", "--ops", "diopiRelu"],
    ],
)
def test_a_full_disk_is_described(words: list[str]) -> None:
    with FULL.open("w") as full:
        command = [sys.executable, "-m", "diopigen", *words]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, MESSAGE)
