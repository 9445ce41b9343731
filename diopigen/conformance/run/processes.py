"""Starts worker processes, also ahead of time: one that reads its modules while the caller loads the spec."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

Started = tuple["subprocess.Popen[bytes]", Any]
"""A process, and the file that it prints to."""


class Processes:
    """Source of the worker processes of a session. What was started ahead and not taken ends by `dismiss`, or with this
    process."""

    def __init__(self) -> None:
        self._spare: list[Started] = []

    def prepare(self) -> None:
        """Starts a process that the next `take` returns."""
        self._spare.append(_start())

    def take(self) -> Started:
        """A process that waits for its setup."""
        return self._spare.pop() if self._spare else _start()

    def dismiss(self) -> None:
        """Ends the processes that were not taken."""
        while self._spare:
            process, errors = self._spare.pop()
            process.kill()
            process.wait()
            assert process.stdin is not None and process.stdout is not None
            for pipe in (process.stdin, process.stdout, errors):
                pipe.close()


def _start() -> Started:
    errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the worker)
    root = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join(entry for entry in (root, os.environ.get("PYTHONPATH", "")) if entry)
    # Several workers share the processors; a thread pool in each of NumPy's libraries would only be in the way.
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}
    process = subprocess.Popen(
        [sys.executable, "-m", "diopigen.conformance.run.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment,
        bufsize=0,
    )
    return process, errors
