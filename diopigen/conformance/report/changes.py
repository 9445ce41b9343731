"""Differences between two runs, case by case. Nothing is printed here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diopigen.conformance.model import FAILURES, CaseResult, Results
from diopigen.conformance.report.accuracy import rows_of

GROWN = 1.5
"""An error is named as larger from this ratio on, where it is above one ULP."""
SLOWER, _NOTICED = 1.5, 0.5
"""A function is named as slower from this ratio on, where it takes so many seconds."""
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Change:
    """A case with its outcomes, empty where a run does not have it, and what is wrong with it now."""

    case: str
    before: str
    now: str
    message: str


@dataclass(frozen=True, slots=True)
class Changes:
    """Differences, by kind. `failing` has the cases that failed before and fail now."""

    broken: tuple[Change, ...]
    fixed: tuple[Change, ...]
    failing: tuple[Change, ...]
    other: tuple[Change, ...]
    added: tuple[Change, ...]
    removed: tuple[Change, ...]
    errors: tuple[tuple[str, str, float, float], ...]
    """Function, dtype, largest error in ULP before and now, where it has grown."""
    slower: tuple[tuple[str, float, float], ...]
    """Function, seconds before and now, over the cases that both runs have."""


def changes(old: Results, new: Results) -> Changes:
    """The differences between two runs. A new case that fails counts as broken."""
    before = {one.case.id: one for one in old.results}
    now = {one.case.id: one for one in new.results}
    found: dict[str, list[Change]] = defaultdict(list)
    for name, result in now.items():
        was = before[name].outcome if name in before else ""
        change = Change(name, was, result.outcome, result.faults[0].message if result.faults else "")
        if result.outcome in FAILURES:
            found["failing" if was in FAILURES else "broken"].append(change)
        elif was in FAILURES:
            found["fixed"].append(change)
        elif not was:
            found["added"].append(change)
        if was and was != result.outcome and (was in FAILURES) == (result.outcome in FAILURES):
            found["other"].append(change)
    found["removed"] = [Change(name, one.outcome, "", "") for name, one in before.items() if name not in now]
    both = before.keys() & now.keys()
    return Changes(
        tuple(found["broken"]),
        tuple(found["fixed"]),
        tuple(found["failing"]),
        tuple(found["other"]),
        tuple(found["added"]),
        tuple(found["removed"]),
        _errors(old, new),
        _slower(
            [one for one in old.results if one.case.id in both], [one for one in new.results if one.case.id in both]
        ),
    )


def _errors(old: Results, new: Results) -> tuple[tuple[str, str, float, float], ...]:
    before = {(row.function, row.dtype): row.worst for row in rows_of(old.results)}
    rows = [
        (row.function, row.dtype, before[row.function, row.dtype], row.worst)
        for row in rows_of(new.results)
        if (row.function, row.dtype) in before
    ]
    return tuple(row for row in rows if row[3] > 1 and row[3] >= GROWN * max(row[2], 0.5))


def _slower(old: Sequence[CaseResult], new: Sequence[CaseResult]) -> tuple[tuple[str, float, float], ...]:
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for index, results in enumerate((old, new)):
        for one in results:
            sums[one.case.function][index] += one.seconds
    rows = [(name, before, now) for name, (before, now) in sums.items()]
    return tuple(
        sorted((row for row in rows if row[2] >= max(_NOTICED, SLOWER * row[1])), key=lambda row: row[1] - row[2])
    )


_TITLES = {
    "broken": "newly failing", "fixed": "fixed", "failing": "still failing", "other": "with another outcome",
    "added": "new, not failing", "removed": "not there any more",
}  # fmt: skip


def text(found: Changes) -> str:
    """The differences for a terminal: the first of each kind, and their numbers."""
    lines = []
    for kind, title in _TITLES.items():
        members: Sequence[Change] = getattr(found, kind)
        if not members:
            continue
        lines.append(f"{title}: {len(members)}")
        named = members if kind in ("broken", "fixed", "other") else ()
        for one in named[:_SHOWN]:
            outcomes = f"{one.before or 'new'} -> {one.now}"
            lines.append(f"  {one.case}: {outcomes}{f': {one.message}' if one.message else ''}")
        if len(named) > _SHOWN:
            lines.append(f"  and {len(named) - _SHOWN} more (--format json has all)")
    if found.errors:
        lines.append(f"larger errors, in ULP: {len(found.errors)}")
        lines += [f"  {name} {dtype}: {before:.3g} -> {now:.3g}" for name, dtype, before, now in found.errors[:_SHOWN]]
    if found.slower:
        lines.append(f"slower: {len(found.slower)}")
        lines += [f"  {name}: {before:.2f} s -> {now:.2f} s" for name, before, now in found.slower[:_SHOWN]]
    return "\n".join(lines or ["no difference"]) + "\n"


def to_record(found: Changes) -> dict[str, Any]:
    """The differences as an object."""
    record: dict[str, Any] = {
        kind: [
            {"case": one.case, "before": one.before, "now": one.now, "message": one.message}
            for one in getattr(found, kind)
        ]
        for kind in _TITLES
    }
    record["errors"] = [
        {"function": name, "dtype": dtype, "before": before, "now": now} for name, dtype, before, now in found.errors
    ]
    record["slower"] = [{"function": name, "before": before, "now": now} for name, before, now in found.slower]
    return record
