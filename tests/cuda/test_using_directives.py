"""nvcc compiles functions of CUDA at the end of a source, which call `erfinv` and the like without a namespace. Where a
source brings those of diopigen::core into the global namespace, such a call is ambiguous. Neither a GPU nor nvcc is
needed."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / name for name in ("impl/core/include", "impl/core/functions", "impl/cuda/include")]
SOURCES = sorted([*(ROOT / "impl/cuda").rglob("*.cu"), *(ROOT / "impl/core/kernels").rglob("*.cpp")])


@cache
def _headers(path: Path) -> frozenset[Path]:
    """The project's headers that a file names."""
    found: set[Path] = set()
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
        found.update(at.resolve() for folder in (path.parent, *FOLDERS) if (at := folder / name).is_file())
    return frozenset(found)


def _included(path: Path) -> set[Path]:
    """Those that it includes, by whatever header."""
    found: set[Path] = set()
    left = {path}
    while left:
        found |= left
        left = {header for one in left for header in _headers(one)} - found
    return found


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_functions_of_numbers_stay_out_of_the_global_namespace(source: Path) -> None:
    is_global = re.search(r"^using namespace diopi(::core)?;", source.read_text(), re.M)
    names = {path.name for path in _included(source)}
    assert is_global is None or "transcendental.h" not in names
