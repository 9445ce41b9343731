"""Vectors, parts of rows and tiles give what NumPy gives, whatever the layout; in both orders of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sampling import first

PROGRAM = Path(__file__).with_name("layout_program.py")


@pytest.mark.parametrize(("order", "share"), first([("forward", 5), ("forward", 1), ("reversed", 1)]))
def test_layouts(emulated: tuple[Path, Path], order: str, share: int) -> None:
    environment = {**os.environ, "DIOPI_CUDA_EMULATION_ORDER": order}
    command: list[str | Path] = [sys.executable, PROGRAM, *emulated, str(share)]
    finished = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (finished.returncode, finished.stdout) == (0, ""), finished.stderr
