"""The programs over the simulated device, by flavour."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from artefacts import artefact


@pytest.fixture(scope="session")
def variant() -> Callable[[str], Path]:
    """Gives the folder with the programs of a preset (`plain`, `address`, `thread`)."""
    return lambda name: artefact("sim/cases", name).parent


@pytest.fixture(scope="session")
def plain(variant: Callable[[str], Path]) -> Path:
    return variant("plain")
