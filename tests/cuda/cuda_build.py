"""The emulated library as the root build leaves it, and what tests ask of libraries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from artefacts import artefact
from cpu_build import run_checked

NVCC = shutil.which("nvcc") or ("/usr/local/cuda/bin/nvcc" if Path("/usr/local/cuda/bin/nvcc").exists() else None)


def emulated_library() -> tuple[Path, Path]:
    """libdiopirt.so and libdiopi_impl_cuda_emulated.so."""
    return artefact("libdiopirt.so"), artefact("libdiopi_impl_cuda_emulated.so")


def results_of(program: Path, libraries: tuple[Path, Path], file: Path, order: str) -> dict[str, Any]:
    """The arrays that a program writes which calls the emulated library, with threads in this order."""
    run_checked([sys.executable, program, *libraries, file], {**os.environ, "DIOPI_CUDA_EMULATION_ORDER": order})
    with np.load(file) as found:
        return dict(found)


def exported(library: Path) -> set[str]:
    """The symbols that a library shows."""
    command = ["nm", "--dynamic", "--defined-only", str(library)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1] for line in lines}
