"""The tests of shims and composites again, with AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from adaptor_helpers import SANITIZED

HERE = Path(__file__).parent
FILES = (
    *("test_shims.py", "test_shim_surroundings.py", "test_every_operator.py"),
    *("test_composites.py", "test_attention_composite.py"),
)


@pytest.mark.skipif(SANITIZED, reason="runs the others under sanitizers")
def test_under_sanitizers() -> None:
    preloaded = [
        subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    finished = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-s", "-x", "-p", "no:cacheprovider"),
            *(str(HERE / name) for name in FILES),
        ],
        env={
            **os.environ,
            "LD_PRELOAD": " ".join(preloaded),
            # Python and its modules leak on purpose, and its objects are not instrumented.
            "ASAN_OPTIONS": "detect_leaks=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
            "DIOPIGEN_ADAPTOR_SANITIZED": "1",
        },
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stdout[-4000:] + finished.stderr[-4000:]
