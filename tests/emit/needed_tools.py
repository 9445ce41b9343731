"""How a missing tool is treated."""

from __future__ import annotations

import os
import shutil

import pytest


def tool(name: str, package: str) -> str:
    """The path of a tool. Without it the test is skipped with the reason, or fails where CI promises it."""
    found = shutil.which(name)
    if found:
        return found
    message = f"{name} is missing: apt install {package}"
    if os.environ.get("DIOPIGEN_REQUIRE_TOOLS"):
        pytest.fail(message)
    pytest.skip(message)
