"""The table of benchmarks.cpu: each of its calls is one that the library accepts."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from artefacts import artefact


@pytest.mark.slow
def test_cases_of_the_table_are_legal_calls() -> None:
    """Making a case calls the function once; without time nothing is measured."""
    command = [sys.executable, "-m", "benchmarks.cpu", "--seconds", "0"]
    libraries = ["--lib", str(artefact("libdiopi_impl.so")), "--runtime", str(artefact("libdiopirt.so"))]
    run = subprocess.run(
        [*command, *libraries], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert run.returncode == 0, run.stderr
    assert "NOT MEASURED 7" in run.stdout
