"""The runtime and the CPU library."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cpu_build import ROOT, SANITIZED, shared_libraries
from cpu_library import CpuLibrary

from diopigen.ir.model import Interface


@pytest.fixture(scope="session")
def generated() -> Path:
    """The folder with the generated headers and loops, from which the root build takes them."""
    return ROOT / "generated"


@pytest.fixture(scope="session")
def libraries() -> tuple[Path, Path]:
    """The paths of both libraries."""
    provided = os.environ.get(SANITIZED)
    if provided:
        return Path(provided) / "libdiopirt.so", Path(provided) / "libdiopi_impl.so"
    return shared_libraries()


@pytest.fixture(scope="session")
def cpu(libraries: tuple[Path, Path], interface: Interface) -> CpuLibrary:
    """The library, loaded into this process."""
    return CpuLibrary(*libraries, interface)
