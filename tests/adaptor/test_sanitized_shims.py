"""The tests of shims again, with AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from adaptor_helpers import SANITIZED

HERE = Path(__file__).parent
# Two processes, about equally long: most of the time is the compiler's.
FILES = (
    ("test_every_operator.py",),
    ("test_shims.py", "test_shim_surroundings.py"),
)


def preloaded() -> str:
    """The libraries of the sanitizers, for a Python that is not built with them."""
    paths = [
        subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    return " ".join(paths)


def sanitized(files: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs test files in a process that is watched."""
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-x", "-p", "no:cacheprovider"]
    environment = {
        **os.environ,
        "LD_PRELOAD": preloaded(),
        # Python and its modules leak on purpose, and its objects are not instrumented.
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "DIOPIGEN_ADAPTOR_SANITIZED": "1",
    }
    files = [str(HERE / name) for name in files]
    return subprocess.run([*command, *files], env=environment, capture_output=True, text=True)


@pytest.mark.sanitize
@pytest.mark.slow
@pytest.mark.skipif(SANITIZED, reason="runs the others under sanitizers")
def test_under_sanitizers() -> None:
    with ThreadPoolExecutor(len(FILES)) as pool:
        for finished in pool.map(sanitized, FILES):
            assert finished.returncode == 0, finished.stdout[-4000:] + finished.stderr[-4000:]
            assert " passed" in finished.stdout
