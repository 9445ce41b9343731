"""The runtime and the CPU library as the root build leaves them, in the flavour that the environment names."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from artefacts import FOLDER, ROOT, artefact

__all__ = ["FLAVOUR", "ROOT", "SANITIZED", "run_checked", "selected", "shared_libraries"]
SHARED = FOLDER
FLAVOUR = "DIOPI_CPU_TEST_BUILD"
"""Chooses the flavour of the libraries that the tests run over, a preset of the root build: plain where it is not set.
What is released clones its loops for several processors, which takes three times as long to compile: `make test` does
without, `make conformance` runs the same tests over it."""
SANITIZED = "DIOPI_CPU_TEST_LIBRARIES"
"""Set in the child process that runs these tests again over libraries built with the sanitizers."""


def run_checked(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
    finished = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=None if environment is None else dict(environment),
    )
    assert finished.returncode == 0, f"{command}\n{finished.stdout[-8000:]}"


def shared_libraries(flavour: str = "") -> tuple[Path, Path]:
    """libdiopirt.so and libdiopi_impl.so; as `flavour` or the environment says."""
    flavour = flavour or selected()
    return artefact("libdiopirt.so", flavour), artefact("libdiopi_impl.so", flavour)


def selected() -> str:
    """The flavour of this run."""
    return os.environ.get(FLAVOUR, "plain")
