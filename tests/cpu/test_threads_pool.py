"""The pool of threads by itself, over OpenMP and over std::thread; the latter also under ThreadSanitizer, which does
not see how libgomp synchronises and would report its every barrier."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from cpu_build import ROOT, run_checked

SOURCES = [ROOT / f"impl/cpu/src/{name}.cpp" for name in ("threads", "team_openmp", "team_std")]
FLAVOURS = {"openmp": ["-fopenmp"], "std": ["-pthread"], "tsan": ["-pthread", "-fsanitize=thread", "-g1"]}


def run_pool(folder: Path, flags: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    program = folder / "pool"
    common = ["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'impl/cpu/include'}"]
    run_checked([*common, *flags, *SOURCES, Path(__file__).parent / "pool_program.cpp", "-o", program])
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    # TSan needs a layout of memory that some kernels randomise away.
    return subprocess.run(
        ["setarch", "-R", program], env={**kept, **variables}, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_parts_exceptions_nesting_and_callers(flavour: str, tmp_path: Path) -> None:
    forks = {} if flavour == "tsan" else {"POOL_TEST_FORK": "1"}
    finished = run_pool(tmp_path, FLAVOURS[flavour], DIOPI_NUM_THREADS="5", OMP_NUM_THREADS="3", **forks)
    assert (finished.returncode, finished.stdout) == (0, "ok 5\n"), finished.stderr[-4000:]


@pytest.mark.parametrize("flavour", ["openmp", "std"])
def test_the_size_of_the_pool_falls_back_to_openmp(flavour: str, tmp_path: Path) -> None:
    finished = run_pool(tmp_path, FLAVOURS[flavour], OMP_NUM_THREADS="3")
    assert (finished.returncode, finished.stdout) == (0, "ok 3\n"), finished.stderr[-4000:]


def test_a_limit_on_openmp_leaves_no_part_out(tmp_path: Path) -> None:
    finished = run_pool(tmp_path, FLAVOURS["openmp"], DIOPI_NUM_THREADS="5", OMP_THREAD_LIMIT="2")
    assert (finished.returncode, finished.stdout) == (0, "ok 2\n"), finished.stderr[-4000:]
