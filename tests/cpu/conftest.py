"""The runtime and the CPU library, against headers and loops generated from this checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cpu_build import ROOT, SANITIZED, shared_libraries, write_generated
from cpu_library import CpuLibrary

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface


@pytest.fixture(scope="session")
def interface() -> Interface:
    """The interface of the spec in this checkout."""
    return api.load(api.workspace(str(ROOT / "specs")), Sink(), check=False).interface


@pytest.fixture(scope="session")
def generated(interface: Interface) -> Path:
    """A folder with the generated headers and loops."""
    return write_generated(interface)


@pytest.fixture(scope="session")
def libraries(generated: Path) -> tuple[Path, Path]:
    """The paths of both libraries."""
    given = os.environ.get(SANITIZED)
    if given:
        return Path(given) / "libdiopirt.so", Path(given) / "libdiopi_impl.so"
    return shared_libraries(generated)


@pytest.fixture(scope="session")
def cpu(libraries: tuple[Path, Path], interface: Interface) -> CpuLibrary:
    """The library, loaded into this process."""
    return CpuLibrary(*libraries, interface)
