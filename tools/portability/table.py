"""Rows as text for people, as Markdown for docs/portability.md, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from suite import Row

HEAD = ("configuration", "what ran", "cases", "passed", "failed", "not covered", "seconds")
_NUMBERS = frozenset({"cases", "passed", "failed", "not covered", "seconds"})
_SHOWN = 20


def text(rows: Sequence[Row], processor: str) -> str:
    """An aligned table, then what failed and what was skipped."""
    lines = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    table = ["  ".join(map(_aligned, line, HEAD, widths)).rstrip() for line in lines]
    return "\n".join([f"on {processor}", "", *table, "", *_notes(rows), summary(rows)]) + "\n"


def markdown(rows: Sequence[Row], processor: str) -> str:
    """The same as a Markdown table."""
    rule = tuple("---:" if name in _NUMBERS else "---" for name in HEAD)
    lines = [HEAD, rule, *(_cells(row) for row in rows)]
    table = [f"| {' | '.join(line)} |" for line in lines]
    return (
        "\n".join([f"On {processor}:", "", *table, "", *(f"- {note}" for note in _notes(rows)), summary(rows)]) + "\n"
    )


SECTION = "## The table\n"


def in_page(page: str, rows: Sequence[Row], processor: str) -> str:
    """A page whose last section is the table, with this table."""
    return page[: page.index(SECTION)] + SECTION + markdown(rows, processor)


def to_json(rows: Sequence[Row], processor: str) -> str:
    """All that is known."""
    return json.dumps({"processor": processor, "rows": [asdict(row) for row in rows]}, indent=1) + "\n"


def summary(rows: Sequence[Row]) -> str:
    """One line on all of them."""
    ran = [row for row in rows if not row.skipped]
    bad = sum(not row.good for row in ran)
    cases, failed = sum(row.cases for row in ran), sum(len(row.failures) for row in ran)
    skipped = len(rows) - len(ran)
    return f"{len(ran)} configurations, {skipped} skipped: {cases} cases, {failed} failed, in {bad} configurations"


def _cells(row: Row) -> tuple[str, ...]:
    if row.skipped:
        return (row.title, f"skipped: {row.skipped}", "", "", "", "", "")
    if row.broken:
        return (row.title, f"BROKEN: {row.broken}", "", "", "", "", f"{row.seconds:.0f}")
    numbers = (row.cases, row.passed, len(row.failures), row.other)
    return (row.title, row.ran, *map(str, numbers), f"{row.seconds:.0f}")


def _aligned(cell: str, name: str, width: int) -> str:
    return cell.rjust(width) if name in _NUMBERS else cell.ljust(width)


def _notes(rows: Sequence[Row]) -> list[str]:
    notes = []
    for row in rows:
        notes += [f"{row.title}: {name}" for name in row.failures[:_SHOWN]]
        if len(row.failures) > _SHOWN:
            notes.append(f"{row.title}: and {len(row.failures) - _SHOWN} more")
    return notes
