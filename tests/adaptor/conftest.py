"""The libraries that the tests of shims share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import adaptor_helpers
from composite_caller import Caller

from diopigen.ir.model import Interface


@pytest.fixture(scope="session")
def composites() -> adaptor_helpers.Library:
    """All composites over a vendor of primitives."""
    return adaptor_helpers.built_shims("composites")


@pytest.fixture
def call(composites: adaptor_helpers.Library, interface: Interface) -> Caller:
    """Calls them, on a vendor that remembers nothing."""
    composites.vendor.mock_reset()
    return Caller(composites, interface)
