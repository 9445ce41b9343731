"""docs/adding-a-dtype.md lists the handwritten files that name a dtype which nothing treats specially."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "diopi_ffi",
    "diopi_torch",
    "diopigen",
    "examples",
    "impl",
    "lab",
    "optools",
    "runtime",
    "specs",
    "templates",
)
SUFFIXES = {".cpp", ".cu", ".h", ".j2", ".py", ".yaml"}
LARGEST = 15
"""Files that a dtype may touch."""


def test_the_table_has_every_file_that_names_uint16() -> None:
    named = {
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in SUFFIXES
        and "build" not in path.parts
        and path.name != "operators.pyi"
        and re.search(r"\b(diopi_dtype_)?uint16\b|\bUInt16\b", path.read_text(encoding="utf-8"))
    }
    rows = re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs/adding-a-dtype.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(named)
    assert len(rows) <= LARGEST
