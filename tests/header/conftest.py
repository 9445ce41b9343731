"""Shared fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest
from vendor_folder import FUNCTIONS, RUNTIME, write


@pytest.fixture
def vendor_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enters an empty folder and writes the headers that vendors' sources include."""
    monkeypatch.chdir(tmp_path)
    write("include/diopi/diopirt.h", RUNTIME)
    write("include/diopi/functions.h", FUNCTIONS)
