"""The tests of this folder once more, over libraries built with the address and undefined behaviour sanitizers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cpu_build import SANITIZED, shared_libraries

HERE = Path(__file__).parent
FILES = (
    "test_elementwise_values.py",
    "test_elementwise_edges.py",
    "test_reductions.py",
    "test_normalisation.py",
    "test_products_and_windows.py",
    "test_shapes_and_positions.py",
    "test_random_values.py",
    "test_losses_and_attention.py",
    "test_products.py",
    "test_threads.py",
    "test_whole_suite.py",
)


@pytest.mark.sanitize
@pytest.mark.slow
@pytest.mark.skipif(SANITIZED in os.environ, reason="this is the run over sanitized libraries already")
def test_all_again_under_sanitizers() -> None:
    library = shared_libraries("sanitized")[1]
    preloaded = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so", "libstdc++.so")
    ]
    environment = {
        **os.environ,
        SANITIZED: str(library.parent),
        "LD_PRELOAD": " ".join(preloaded),
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter leaks
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "DIOPI_NUM_THREADS": "3",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(str(HERE / name) for name in FILES)]
    finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert finished.returncode == 0, finished.stdout[-6000:]
