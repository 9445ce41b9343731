"""A coverage report as tables of text, and as a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from diopigen.emit.templates import render
from diopigen.vendor.coverage import STATES, Coverage

_NAMED = 4  # functions that a line names


def as_text(report: Coverage, suggestions: int = 10) -> str:
    """Families by state, models with what blocks them, and what is worth writing next."""
    parts = [_table(["family", "functions", *STATES], _families(report))]
    if report.models:
        parts.append(_table(["model", "calls", *STATES, "verdict"], _models(report)))
        stopped = [_obstacles(model.name, model.blocked, model.slowed, model.unmapped) for model in report.models]
        parts.append("\n".join(line for lines in stopped for line in lines))
    if report.suggestions and suggestions:
        rows = [
            [item.function, item.state, f"{item.fraction:.1%}", ", ".join(item.models)]
            for item in report.suggestions[:suggestions]
        ]
        parts.append("Worth writing next, by share of calls:\n" + _table(["function", "now", "calls", "models"], rows))
    return "\n\n".join(part for part in parts if part) + "\n"


def as_page(report: Coverage, templates: Path) -> bytes:
    """One page that needs nothing but itself."""
    total = len(report.functions)
    values = {
        "report": report,
        "states": STATES,
        "counts": {state: report.count(state) for state in STATES},
        "whole": total,
        "families": report.families(),
        "data": json.dumps(report.as_json()).replace("<", "\\u003c"),
    }
    return render(templates, "coverage/report.html.j2", values)


def _families(report: Coverage) -> list[list[str]]:
    rows = []
    for family, counts in report.families().items():
        rows.append([family, str(sum(counts.values())), *(_number(counts[state]) for state in STATES)])
    rows.append(["total", str(len(report.functions)), *(_number(report.count(state)) for state in STATES)])
    return rows


def _models(report: Coverage) -> list[list[str]]:
    return [
        [
            model.name,
            str(sum(model.calls.values())),
            *(_fraction(model.calls.get(state, 0), sum(model.calls.values())) for state in STATES),
            model.verdict,
        ]
        for model in report.models
    ]


def _obstacles(name: str, blocked: Sequence[str], slowed: Sequence[str], unmapped: Sequence[str]) -> list[str]:
    lines = []
    for what, functions in (
        ("is blocked by", blocked),
        ("runs on the host:", slowed),
        ("has no function for", unmapped),
    ):
        if functions:
            rest = f" and {len(functions) - _NAMED} more" if len(functions) > _NAMED else ""
            lines.append(f"{name} {what} {', '.join(functions[:_NAMED])}{rest}")
    return lines


def _number(count: int) -> str:
    return str(count) if count else "."


def _fraction(count: int, total: int) -> str:
    return f"{count / total:.0%}" if count else "."


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns that line up: numbers to the right, words to the left."""
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
    right = [all(row[k][:1] in "0123456789." for row in rows) for k in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        texts = (
            cell.rjust(width) if r else cell.ljust(width) for cell, width, r in zip(cells, widths, right, strict=True)
        )
        return "  ".join(texts).rstrip()

    return "\n".join([line(head), "-" * (sum(widths) + 2 * len(widths) - 2), *(line(row) for row in rows)])
