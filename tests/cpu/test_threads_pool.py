"""The pool of threads by itself, over OpenMP and over std::thread; the latter also under ThreadSanitizer, which does
not see how libgomp synchronises and would report its every barrier."""

from __future__ import annotations

import os
import subprocess

import pytest
from artefacts import artefact

FLAVOURS = {
    "openmp": ("cpu/pool_openmp", "plain"),
    "std": ("cpu/pool_std", "plain"),
    "tsan": ("cpu/pool_std", "thread"),
}


def run_pool(flavour: str, **variables: str) -> subprocess.CompletedProcess[str]:
    program = artefact(*FLAVOURS[flavour])
    retained = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    # TSan needs a layout of memory that some kernels randomise away.
    return subprocess.run(["setarch", "-R", program], env={**retained, **variables}, capture_output=True, text=True)


@pytest.mark.parametrize(
    "flavour", ["openmp", "std", pytest.param("tsan", marks=(pytest.mark.sanitize, pytest.mark.slow))]
)
def test_parts_exceptions_nesting_and_callers(flavour: str) -> None:
    forks = {} if flavour == "tsan" else {"POOL_TEST_FORK": "1"}
    finished = run_pool(flavour, DIOPI_NUM_THREADS="5", OMP_NUM_THREADS="3", **forks)
    assert (finished.returncode, finished.stdout) == (0, "ok 5\n"), finished.stderr[-4000:]


@pytest.mark.parametrize("flavour", ["openmp", "std"])
def test_the_size_of_the_pool_falls_back_to_openmp(flavour: str) -> None:
    finished = run_pool(flavour, OMP_NUM_THREADS="3")
    assert (finished.returncode, finished.stdout) == (0, "ok 3\n"), finished.stderr[-4000:]


def test_a_limit_on_openmp_leaves_no_part_out() -> None:
    finished = run_pool("openmp", DIOPI_NUM_THREADS="5", OMP_THREAD_LIMIT="2")
    assert (finished.returncode, finished.stdout) == (0, "ok 2\n"), finished.stderr[-4000:]
