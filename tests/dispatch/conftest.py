"""Builds the runtime, the dispatch library, a vendor's library and a reference library, once per session."""

from __future__ import annotations

import pytest
from dispatch_build import Libraries, build_libraries


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    return build_libraries(tmp_path_factory.mktemp("dispatch"))
