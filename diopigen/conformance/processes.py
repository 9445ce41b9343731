"""Starts worker processes, also ahead of time: one that reads its modules while the caller loads the spec."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Started = tuple["subprocess.Popen[bytes]", Any]
"""A process, and the file that it prints to."""

_spare: list[Started] = []


def prepare() -> None:
    """Starts a process that the next `take` gives. One that nobody takes ends with this process, or by `dismiss`."""
    _spare.append(_start({}))


def take(environment: Mapping[str, str] | None = None) -> Started:
    """A process that waits for its setup. One with variables of its own is none of those started ahead."""
    return _spare.pop() if _spare and not environment else _start(environment or {})


def dismiss() -> None:
    """Ends the processes that nobody took."""
    while _spare:
        process, errors = _spare.pop()
        process.kill()
        process.wait()
        assert process.stdin is not None and process.stdout is not None
        for pipe in (process.stdin, process.stdout, errors):
            pipe.close()


def _start(variables: Mapping[str, str]) -> Started:
    errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the worker)
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(entry for entry in (root, os.environ.get("PYTHONPATH", "")) if entry)
    # Several workers share the processors; a thread pool in each of NumPy's libraries would only be in the way.
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ, **variables, "PYTHONPATH": path}
    process = subprocess.Popen(
        [sys.executable, "-m", "diopigen.conformance.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment,
        bufsize=0,
    )
    return process, errors
