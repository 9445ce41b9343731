"""Standard output that cannot be written: one line, exit code 2, and no fault of diopigen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from test_generate import ROOT

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", [["check"], ["explain", "diopiRelu"], ["explain", "--rules"], ["--help"]])
def test_a_full_disk_is_named(words: list[str]) -> None:
    with FULL.open("w") as output:
        done = subprocess.run(
            [sys.executable, "-m", "diopigen", *words],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "diopigen: error[output-no-space]: standard output cannot be written: No space left on device"
    )
    assert "internal" not in done.stderr and "Traceback" not in done.stderr
