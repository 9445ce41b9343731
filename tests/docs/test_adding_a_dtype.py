"""docs/adding-a-dtype.md lists the handwritten files that name a dtype which nothing treats specially, and those that
float8 has taken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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


NAMES = {
    "A dtype of the table": r"\b(diopi_dtype_)?uint16\b|\bUInt16\b",
    "float8": r"[Ff]loat8(_|::)?k?[Ee]4m3fn",
}
"""Names of a dtype in the files that a section of the page lists."""


@pytest.mark.parametrize("section", NAMES)
def test_the_table_has_every_file_that_names_a_dtype(section: str) -> None:
    named = {
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in SUFFIXES
        and "build" not in path.parts
        and path.name != "operators.pyi"
        and "ops" not in path.parts  # operators name dtypes in their own entries, as the page says
        and re.search(NAMES[section], path.read_text(encoding="utf-8"))
    }
    page = (ROOT / "docs/adding-a-dtype.md").read_text(encoding="utf-8")
    (text,) = re.findall(rf"^## {section}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    assert sorted(rows) == sorted(named)
    assert len(rows) <= LARGEST
    assert f"{len(rows)} files" in text
