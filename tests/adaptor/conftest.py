"""The libraries that the tests of shims share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import adaptor_helpers
from composite_caller import Caller, build_composites

from diopigen.ir.model import Interface


@pytest.fixture(scope="session")
def base(interface: Interface, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The host runtime and the mock vendor."""
    return adaptor_helpers.build_base(interface, tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="session")
def composites(
    interface: Interface, base: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> adaptor_helpers.Library:
    """All composites over a vendor of primitives."""
    return build_composites(interface, base, tmp_path_factory.mktemp("mini"))


@pytest.fixture
def call(composites: adaptor_helpers.Library, interface: Interface) -> Caller:
    """Calls them, on a vendor that remembers nothing."""
    composites.vendor.mock_reset()
    return Caller(composites, interface)
