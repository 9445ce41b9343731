"""The emulated CUDA library."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "cpu"))

from cpu_build import ROOT
from cuda_build import emulated_library


@pytest.fixture(scope="session")
def generated() -> Path:
    """The folder with the generated headers and kernels, from which the root build takes them."""
    return ROOT / "generated"


@pytest.fixture(scope="session")
def emulated() -> tuple[Path, Path]:
    """The runtime and the library with kernels that run on the host."""
    return emulated_library()
