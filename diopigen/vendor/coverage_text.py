"""A coverage report as tables of text, and as a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from diopigen.emit.templates import render
from diopigen.output import table
from diopigen.vendor.coverage import STATES, Coverage
from diopigen.vendor.coverage_types import TypeCoverage, totals
from diopigen.vendor.fallbacks import Fallback

_NAMED = 4  # functions that a line names


def as_text(report: Coverage, suggestions: int = 10) -> str:
    """Families by state, models with what blocks them, what is worth writing next, and recorded fallbacks."""
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
    if report.fallbacks:
        parts.append(_fallbacks(report))
    return "\n\n".join(part for part in parts if part) + "\n"


def types_as_text(functions: tuple[TypeCoverage, ...], *, each: bool) -> str:
    """Functions by dtype and state, and by layout and state; `each` lists those with a kernel one by one."""
    parts = []
    for kind, head in (("dtypes", "dtype"), ("layouts", "layout")):
        rows = [
            [name, str(sum(counts.values())), *(_number(counts[state]) for state in STATES)]
            for name, counts in totals(functions, kind).items()
        ]
        parts.append(_table([head, "functions", *STATES], rows))
    if each:
        states = ("native", "shim", "fallback")
        kernels = [item for item in functions if not {"native", "shim"}.isdisjoint(item.dtypes.values())]
        rows = [
            [item.name, *(_names(item.dtypes, state) for state in states), _names(item.layouts, "shim")]
            for item in kernels
        ]
        parts.append(_table(["function", *(f"{state} dtypes" for state in states), "layouts by shim"], rows))
    return "\n\n".join(parts) + "\n"


def _names(states: Mapping[str, str], state: str) -> str:
    return " ".join(name for name, found in states.items() if found == state) or "-"


def as_page(report: Coverage, templates: Path) -> bytes:
    """One page that needs nothing but itself."""
    total = len(report.functions)
    values = {
        "title": f"Coverage of {report.vendor}",
        "facts": [("functions", str(total)), ("models", str(len(report.models)))],
        "good": True,
        "verdict": f"{report.count('native') + report.count('shim')} of {total} functions have a kernel",
        "share": "",
        "report": report,
        "states": STATES,
        "counts": {state: report.count(state) for state in STATES},
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


def _fallbacks(report: Coverage) -> str:
    """Recorded calls, by operator and check: the reason is that of the first of them."""
    rows = [
        [str(one.calls), one.operator, report.state(one.function) or ".", _with_overload(one.why, one)]
        for one in report.fallbacks
    ]
    calls = sum(one.calls for one in report.fallbacks)
    return f"Recorded calls that fell back, {calls}:\n" + _table(["calls", "operator", "now", "why"], rows)


def _with_overload(why: str, one: Fallback) -> str:
    return f"{why} [{one.overload}]" if one.function and one.overload else why


def _number(count: int) -> str:
    return str(count) if count else "."


def _fraction(count: int, total: int) -> str:
    return f"{count / total:.0%}" if count else "."


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(table.ruled([head, *rows]))
