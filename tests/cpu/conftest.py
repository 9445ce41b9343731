"""Builds the runtime and the CPU library once per session, against headers and loops generated from this checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cpu_build import ROOT, SANITIZED, build_libraries
from cpu_library import CpuLibrary

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface


@pytest.fixture(scope="session")
def interface() -> Interface:
    """The interface of the spec in this checkout."""
    return api.load(api.workspace(str(ROOT / "specs")), Sink(), check=False).interface


@pytest.fixture(scope="session")
def generated(interface: Interface, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the generated headers and loops."""
    folder = tmp_path_factory.mktemp("generated")
    where = api.workspace(str(ROOT / "specs"), str(ROOT / "templates"))
    for path, content in api.plan(interface, where, Sink(), ["headers", "cpu"]).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


@pytest.fixture(scope="session")
def libraries(generated: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The paths of both libraries."""
    given = os.environ.get(SANITIZED)
    if given:
        return Path(given) / "libdiopirt.so", Path(given) / "libdiopi_impl.so"
    return build_libraries(generated, tmp_path_factory.mktemp("libraries"))


@pytest.fixture(scope="session")
def cpu(libraries: tuple[Path, Path], interface: Interface) -> CpuLibrary:
    """The library, loaded into this process."""
    return CpuLibrary(*libraries, interface)
