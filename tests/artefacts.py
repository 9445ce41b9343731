"""Artefacts of the root build for tests (docs/building.md). Tests find it here; none of them compiles it."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build/tests"
PLAIN = os.environ.get("DIOPIGEN_TEST_BUILD", "plain")
"""The folder in place of that of `plain`: `tools/torch_release.py` builds for another torch."""
SOURCES = (
    "CMakeLists.txt",
    "CMakePresets.json",
    "runtime",
    "impl",
    "generated",
    "tests",
    "third_party",
    "examples/droplet",
)
COMPILED = (".c", ".cpp", ".cu", ".h", ".map", ".cmake", ".txt", ".json")
"""Inputs of a build. Python that writes sources for it is looked at by CMake (tests/write_sources.py)."""


def artefact(name: str, preset: str = PLAIN) -> Path:
    """The file `name` that a preset builds, below build/tests/<preset>. Fails where it is missing, and warns where
    sources are younger; both name the command that builds it."""
    path = FOLDER / preset / name
    command = "make build" if preset == "plain" else f"make build PRESET={preset}"
    if not path.exists():
        pytest.fail(f"{path.relative_to(ROOT)} is not built: run `{command}`", pytrace=False)
    if changed := newer_source(preset, path.stat().st_mtime):
        warnings.warn(f"{changed} is younger than build/tests/{preset}: run `{command}`", stacklevel=2)
    return path


def newer_source(preset: str, created: float) -> str:
    """The youngest source, where it is younger than an artefact and than the start of the last whole build of the
    preset; else nothing."""
    stamp = FOLDER / preset / "built"
    path, changed = youngest_source()
    return str(path.relative_to(ROOT)) if changed > max(created, stamp.stat().st_mtime if stamp.exists() else 0) else ""


@functools.cache
def youngest_source() -> tuple[Path, float]:
    """Of the files that builds read, the one that changed last, and when."""
    return max(((path, path.stat().st_mtime) for path in sources()), key=lambda found: found[1])


def sources() -> Iterator[Path]:
    """The files of the checkout that builds read."""
    for name in SOURCES:
        top = ROOT / name
        yield from [top] if top.is_file() else (path for path in top.rglob("*") if path.suffix in COMPILED)
