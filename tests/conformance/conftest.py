"""The interface of the spec, and two libraries: the host runtime and a tiny kernel library."""

from __future__ import annotations

from pathlib import Path

import pytest
from artefacts import artefact

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def runtime() -> Path:
    """libdiopirt.so."""
    return artefact("libdiopirt.so")


@pytest.fixture(scope="session")
def tiny_library() -> Path:
    """The library of tiny_library.c."""
    return artefact("conformance/libdiopi_impl.so")
