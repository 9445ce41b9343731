"""Where the root build leaves what tests run (docs/building.md). Tests find it here; none of them compiles it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build/tests"
SOURCES = ("CMakeLists.txt", "CMakePresets.json", "runtime", "impl", "generated", "tests", "examples/droplet")
COMPILED = (".c", ".cpp", ".cu", ".h", ".map", ".cmake", ".txt", ".json")
"""What a build reads. Python that writes sources for it is looked at by CMake (tests/write_sources.py)."""


def artefact(name: str, preset: str = "plain") -> Path:
    """The file `name` that a preset builds, below build/tests/<preset>. Fails where it is missing or older than its
    sources, and names the command that builds it."""
    path = FOLDER / preset / name
    command = f"make build PRESET={preset}" if preset != "plain" else "make build"
    if not path.exists():
        pytest.fail(f"{path.relative_to(ROOT)} is not built: run `{command}`", pytrace=False)
    if changed := newer_source(preset):
        pytest.fail(f"{changed} changed since build/tests/{preset} was built: run `{command}`", pytrace=False)
    return path


@functools.cache
def newer_source(preset: str) -> str:
    """A source that is younger than the start of the last whole build of a preset; empty where there is none."""
    stamp = FOLDER / preset / "built"
    if not stamp.exists():
        return "everything"
    built = stamp.stat().st_mtime
    for path in sources():
        if path.stat().st_mtime > built:
            return str(path.relative_to(ROOT))
    return ""


def sources() -> Iterator[Path]:
    """The files of the checkout that builds read."""
    for name in SOURCES:
        top = ROOT / name
        yield from [top] if top.is_file() else (path for path in top.rglob("*") if path.suffix in COMPILED)
