"""The emulated CUDA library, against headers and kernels generated from this checkout."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "cpu"))

from cpu_build import ROOT, write_generated
from cuda_build import emulated_library

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface


@pytest.fixture(scope="session")
def interface() -> Interface:
    """The interface of the spec in this checkout."""
    return api.load(api.workspace(str(ROOT / "specs")), Sink(), check=False).interface


@pytest.fixture(scope="session")
def generated(interface: Interface) -> Path:
    """A folder with the generated headers and kernels."""
    return write_generated(interface)


@pytest.fixture(scope="session")
def emulated(generated: Path) -> tuple[Path, Path]:
    """The runtime and the library with kernels that run on the host."""
    return emulated_library(generated)
