"""Vectors, parts of rows and tiles give what NumPy gives, whatever the layout; in both orders of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("layout_program.py")


@pytest.mark.parametrize("order", ["forward", "reversed"])
def test_layouts(emulated: tuple[Path, Path], order: str) -> None:
    environment = {**os.environ, "DIOPI_CUDA_EMULATION_ORDER": order}
    command = [sys.executable, PROGRAM, *emulated]
    finished = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (finished.returncode, finished.stdout) == (0, ""), finished.stderr
