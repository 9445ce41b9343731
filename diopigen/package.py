"""Paths of the files of the package: specs, templates, the host runtime, the CMake package."""

from __future__ import annotations

from pathlib import Path

VENDORED_FOLDER = "third_party/diopigen"
"""The folder of a vendor's tree with a copy of them."""


def package_root() -> Path:
    """The folder of all of them: the root of a checkout, or a folder of the package in a wheel."""
    package = Path(__file__).parent
    inside = package / "_data"
    return inside if inside.is_dir() else package.parent


def package_data(name: str) -> Path:
    """A folder that is distributed with the package."""
    return package_root() / name
