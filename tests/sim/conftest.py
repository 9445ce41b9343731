"""The built variants, one build for all processes of the session."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from sim_build import built


@pytest.fixture(scope="session")
def variant(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives the folder with the programs of a variant (`plain`, `address`, `thread`)."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return lambda name: built(name, shared)


@pytest.fixture(scope="session")
def plain(variant: Callable[[str], Path]) -> Path:
    return variant("plain")
