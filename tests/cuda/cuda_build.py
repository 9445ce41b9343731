"""How the tests build the emulated library: with the build description that users build it with."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
from cpu_build import ROOT, SHARED, only_one, run_checked

NVCC = shutil.which("nvcc") or ("/usr/local/cuda/bin/nvcc" if Path("/usr/local/cuda/bin/nvcc").exists() else None)


def tool(name: str) -> str:
    """A tool of the environment that the tests run in, else the one of the machine."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else name


def emulated_library(generated: Path) -> tuple[Path, Path]:
    """libdiopirt.so and libdiopi_impl_cuda_emulated.so, built by whoever comes first."""
    with only_one(SHARED / "emulated") as output:
        environment = {**os.environ, "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        options = [f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={output}", "-DCMAKE_BUILD_TYPE=Release", *launcher]
        folders = {
            "runtime": [f"-DDIOPIGEN_INCLUDE_DIR={generated / 'include'}"],
            "impl/cuda": [f"-DDIOPIGEN_GENERATED_DIR={generated}", "-DDIOPIGEN_CUDA_EMULATION=ON"],
        }
        for folder, own in folders.items():
            build = output / "build" / folder
            run_checked([tool("cmake"), "-S", ROOT / folder, "-B", build, "-G", "Ninja", *options, *own], environment)
            run_checked([tool("cmake"), "--build", build, "--parallel", "2"], environment)
    return output / "libdiopirt.so", output / "libdiopi_impl_cuda_emulated.so"


def results_of(program: Path, libraries: tuple[Path, Path], file: Path, order: str) -> dict[str, Any]:
    """The arrays that a program writes which calls the emulated library, with threads in this order."""
    run_checked([sys.executable, program, *libraries, file], {**os.environ, "DIOPI_CUDA_EMULATION_ORDER": order})
    with np.load(file) as found:
        return dict(found)


def exported(library: Path) -> set[str]:
    """The symbols that a library shows."""
    import subprocess

    command = ["nm", "--dynamic", "--defined-only", str(library)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1] for line in lines}
