"""Where the files are that diopigen brings along: specs, templates, the host runtime."""

from __future__ import annotations

from pathlib import Path


def package_data(name: str) -> Path:
    """A folder that is distributed with the package: next to it in a checkout, inside it in a wheel."""
    package = Path(__file__).parent
    inside = package / "_data" / name
    return inside if inside.is_dir() else package.parent / name
