"""The runtime, the dispatch library, a vendor's library and a reference library."""

from __future__ import annotations

import pytest
from dispatch_build import Libraries, built_libraries


@pytest.fixture(scope="session")
def libraries() -> Libraries:
    return built_libraries()
