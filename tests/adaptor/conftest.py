"""The libraries that the tests of shims share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import adaptor_helpers

from diopigen.ir.model import Interface


@pytest.fixture(scope="session")
def base(interface: Interface, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The host runtime and the mock vendor."""
    return adaptor_helpers.build_base(interface, tmp_path_factory.mktemp("base"))
