"""The same seed gives the same numbers in the CUDA library and in the CPU library."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cpu_build import run_checked, shared_libraries

PROGRAM = Path(__file__).with_name("random_program.py")
Array = np.ndarray[Any, Any]


def drawn(libraries: tuple[Path, Path], seed: int, folder: Path) -> Mapping[str, Array]:
    """Results of all random functions of a library."""
    file = folder / f"{libraries[1].stem}-{seed}.npz"
    run_checked([sys.executable, PROGRAM, *libraries, str(seed), file])
    with np.load(file) as results:
        return dict(results)


def allowed(name: str) -> float:
    """Error bounds of results: samples must be equal, values computed from them may be rounded differently.

    Normal numbers go through logarithms and cosines, of which the CPU library has vector forms; attention adds up in
    another order.
    """
    function, _, output = name.split("/")
    if output in ("mask", "offset"):
        return 0
    if "Attention" in function:
        return 2e-3
    return 4e-15 if function.startswith("Normal") else 0


@pytest.fixture(scope="module")
def by_cpu(generated: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Array]:
    return drawn(shared_libraries(), 5, tmp_path_factory.mktemp("cpu"))


def test_every_random_function_draws_what_the_cpu_draws(
    by_cpu: Mapping[str, Array], emulated: tuple[Path, Path], tmp_path: Path
) -> None:
    by_cuda = drawn(emulated, 5, tmp_path)
    assert by_cuda.keys() == by_cpu.keys()
    far = {}
    for name, expected in by_cpu.items():
        found = by_cuda[name]
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), name
        distance = float(np.max(np.abs(found.astype(np.float64) - expected.astype(np.float64))))
        if not distance <= allowed(name):
            far[name] = distance
    assert far == {}


def test_another_seed_draws_something_else(
    by_cpu: Mapping[str, Array], emulated: tuple[Path, Path], tmp_path: Path
) -> None:
    """So that the comparison above is one of numbers drawn: no function's outputs stay as they were."""
    others = drawn(emulated, 6, tmp_path)
    functions = {name.split("/")[0] for name in by_cpu}
    unmoved = {
        function
        for function in functions
        if not any(
            np.max(np.abs(others[name].astype(np.float64) - by_cpu[name].astype(np.float64))) > allowed(name)
            for name in by_cpu
            if name.startswith(f"{function}/") and not name.endswith("/offset")
        )
    }
    assert unmoved == set()
