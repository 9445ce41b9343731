"""Writes the tables of docs/meaning.md from tests/data/meaning.yaml; with --check, exits with 1 where they differ.

The page keeps its text; the tables follow the line MARKER and go to the end.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/meaning.yaml"
PAGE = ROOT / "docs/meaning.md"
MARKER = "## Function by function\n"
STATUSES = {
    "agrees": "agrees",
    "differs": "differs on purpose",
    "fixed": "fixed",
    "absent": "not implemented there",
}
_KEYS = {"functions", "compared", "status", "note", "source"}


@dataclass(frozen=True, slots=True)
class Row:
    """A function, without `diopi`. `found_in` are the implementations that define it, and `suite`."""

    family: str
    function: str
    found_in: tuple[str, ...]
    compared: str
    status: str
    note: str
    source: str


def rows(path: Path = DATA) -> list[Row]:
    """All rows in order. Raises ValueError where an entry has an unknown key or status, or is incomplete."""
    families = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [row for family in families for entry in family["rows"] for row in _rows(family["family"], entry)]


def _rows(family: str, entry: Mapping[str, Any]) -> Iterator[Row]:
    names = ", ".join(entry["functions"])
    status, note, source = entry["status"], entry.get("note", ""), entry.get("source", "")
    if set(entry) - _KEYS or status not in STATUSES:
        raise ValueError(f"{names}: an unknown key or status")
    if status in ("differs", "fixed") and not note:
        raise ValueError(f"{names}: 'note' is missing")
    for function, found_in in entry["functions"].items():
        if not (found_in or source):
            raise ValueError(f"{function}: 'source' is missing, as it is implemented nowhere")
        if (status == "absent") != (not found_in) and status != "fixed":
            raise ValueError(f"{function}: {status}, implemented by {found_in}")
        yield Row(family, function, tuple(found_in), entry["compared"], status, note, source)


def tables(every: list[Row]) -> str:
    """The tables, one for each family, as Markdown."""
    lines: list[str] = []
    family = ""
    for row in every:
        if row.family != family:
            family = row.family
            lines += [
                "",
                f"### {family}",
                "| function | implemented in | compared | result |",
                "| --- | --- | --- | --- |",
            ]
        found_in = ", ".join(row.found_in) or row.source
        result = STATUSES[row.status] + (f": {row.note}" if row.note else "")
        lines.append(f"| {row.function} | {found_in} | {row.compared} | {result} |")
    return "\n".join(lines) + "\n"


def page(text: str, every: list[Row]) -> str:
    """The page with the tables behind its text."""
    head, marker, _ = text.partition(MARKER)
    if not marker:
        raise ValueError(f"{PAGE.name} has no line {MARKER.strip()!r}")
    words = {**STATUSES, "agrees": "agree", "differs": "differ on purpose"}
    counts = ", ".join(f"{sum(row.status == key for row in every)} {word}" for key, word in words.items())
    return head + marker + f"{len(every)} functions: {counts}.\n" + tables(every)


def main() -> int:
    text = PAGE.read_text(encoding="utf-8")
    expected = page(text, rows())
    if "--check" in sys.argv[1:]:
        return int(text != expected)
    PAGE.write_text(expected, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
