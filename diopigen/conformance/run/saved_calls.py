"""Calls that a backend of PyTorch kept (`DIOPI_AUTOCOMPARE`, docs/pytorch.md): which package can run one again."""

from __future__ import annotations

import re
from pathlib import Path

from diopigen.spec.text_file import read_regular

DEVICE = "device"
"""The file of a kept call that has the name of its device."""
_NAME = re.compile(r"[a-z_][a-z0-9_]*\n?")


def package_of(folder: Path) -> str | None:
    """The package of the backend that kept the call; None for what is no such folder."""
    try:
        name = read_regular(folder / DEVICE).decode()
    except (OSError, ValueError):
        return None
    return f"torch_{name.strip()}" if (folder / "case.pt").is_file() and _NAME.fullmatch(name) else None
