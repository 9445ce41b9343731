"""Programs that tests call, and the time that they may take."""

from __future__ import annotations

import os
import shutil
import sys
from typing import NoReturn

import pytest

HOUR = 3600.0
"""Seconds for a case of the suite, where a test is not about limits: how busy a machine is decides no test."""
SUITE = (sys.executable, "-m", "diopigen", "conformance", "run", "--time-limit", str(HOUR))
"""The command that runs the suite; options follow."""


def program(name: str, package: str) -> str:
    """The path of a program, from the environment of the tests or the machine (tests/conftest.py sets PATH).

    Where it is missing the test is `absent`, and the reason names the package that has it.
    """
    path = shutil.which(name)
    return path if path else absent(f"{name} is missing: apt install {package}")


def absent(message: str) -> NoReturn:
    """Skips the test for the lack of a tool; with DIOPIGEN_REQUIRE_TOOLS in the environment, as in CI, it fails."""
    if os.environ.get("DIOPIGEN_REQUIRE_TOOLS"):
        pytest.fail(message)
    pytest.skip(message)
