"""The accuracy table: the largest and the mean error by function and dtype, in units in the last position.

Alongside the library under test are the reference library and PyTorch, as recorded in `recorded.json` over all cases
(tools/record_accuracy.py), with their versions.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import CaseResult, Measured
from diopigen.output import table

RECORDED = Path(__file__).with_name("recorded.json")

Pair = tuple[float, float]
"""The largest and the mean error."""


@dataclass(frozen=True, slots=True)
class Row:
    """The errors of a function in a dtype. `case` has the largest; `others` are those of the recorded libraries that
    have the function, by name."""

    function: str
    dtype: str
    worst: float
    mean: float
    elements: int
    case: str
    others: Mapping[str, Pair]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A library whose errors were recorded over all cases."""

    name: str
    version: str
    errors: Mapping[str, Mapping[str, Pair]]

    def of(self, function: str, dtype: str) -> Pair | None:
        """The errors of a function in a dtype."""
        return self.errors.get(function, {}).get(dtype)


@cache
def recorded() -> tuple[Recorded, ...]:
    """The recorded libraries, in the order of the columns."""
    document = json.loads(RECORDED.read_text(encoding="utf-8"))
    return tuple(
        Recorded(
            entry["name"],
            entry["version"],
            {
                function: {dtype: (float(pair[0]), float(pair[1])) for dtype, pair in dtypes.items()}
                for function, dtypes in entry["errors"].items()
            },
        )
        for entry in document
    )


def label(measured: Measured) -> str:
    """The dtype of a row: that of the call, and what it was converted to."""
    return f"{measured.dtype} as {measured.converted}" if measured.converted else measured.dtype


def rows_of(results: Sequence[CaseResult]) -> list[Row]:
    """The table, by function in the order of the results and by dtype."""
    groups: dict[tuple[str, str], list[tuple[Measured, str]]] = {}
    for result in results:
        for one in result.errors:
            groups.setdefault((result.case.function, label(one)), []).append((one, result.case.id))
    order = {name: position for position, name in enumerate(STORAGE)}
    first = {function: position for position, function in enumerate(dict.fromkeys(function for function, _ in groups))}
    keys = sorted(groups, key=lambda key: (first[key[0]], order.get(key[1].split(" ")[0], 0), key[1]))
    return [_row(function, dtype, groups[function, dtype]) for function, dtype in keys]


def _row(function: str, dtype: str, members: Sequence[tuple[Measured, str]]) -> Row:
    largest, case = max(members, key=lambda pair: pair[0].worst)
    elements = sum(one.elements for one, _ in members)
    mean = sum(one.mean * one.elements for one, _ in members) / elements
    others = {one.name: pair for one in recorded() if (pair := one.of(function, dtype)) is not None}
    return Row(function, dtype, largest.worst, mean, elements, case, others)


def to_records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The table as objects."""
    return [
        {
            "function": row.function, "dtype": row.dtype, "worst": _short(row.worst), "mean": _short(row.mean),
            "elements": row.elements, "case": row.case,
            "others": {name: [_short(pair[0]), _short(pair[1])] for name, pair in row.others.items()},
        }
        for row in rows
    ]  # fmt: skip


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def shown(value: float | None) -> str:
    """An error as text: two decimals, and large ones by their power of ten."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10_000 else f"{value:.1e}".replace("e+0", "e").replace("e+", "e")


def accuracy_text(results: Sequence[CaseResult], *, full: bool = False) -> list[str]:
    """The table for a terminal, by dtype, or in `full` by function and dtype; none where nothing was measured."""
    rows = rows_of(results)
    if not rows:
        return []
    libraries = [f"{one.name} {one.version}" for one in recorded()]
    compared = f", compared with {' and '.join(libraries)} over all cases" if libraries else ""
    if full:
        return [f"accuracy in ULP{compared}:\n{_full(rows)}"]
    return [f"accuracy in ULP{compared} (largest errors of the functions; --show accuracy has each):\n{_summary(rows)}"]


def _full(rows: Sequence[Row]) -> str:
    names = [one.name for one in recorded()]
    head = ["function", "dtype", "worst", "mean", *(f"{name} {word}" for name in names for word in ("worst", "mean"))]
    cells = [[*head, "elements", "worst in"]]
    for row in rows:
        others = [shown(value) for name in names for value in row.others.get(name, (None, None))]
        cells.append([row.function, row.dtype, shown(row.worst), shown(row.mean), *others, str(row.elements), row.case])
    return "\n".join(table.ruled(cells, left=(0, 1, len(cells[0]) - 1)))


def _summary(rows: Sequence[Row]) -> str:
    cells = summary_rows(rows)
    return "\n".join(table.ruled(cells, left=(0, len(cells[0]) - 1)))


def summary_rows(rows: Sequence[Row]) -> list[list[str]]:
    """The largest errors of the functions by dtype, as cells below a head; the first and the last column are words."""
    names = [one.name for one in recorded()]
    found = [
        ["dtype", "functions", "median", "worst", *(f"{n} {w}" for n in names for w in ("median", "worst")), "worst of"]
    ]
    for dtype in dict.fromkeys(sorted((row.dtype for row in rows), key=_order)):
        members = [row for row in rows if row.dtype == dtype]
        largest = max(members, key=lambda row: row.worst)
        cells = [dtype, str(len(members)), *_middle([row.worst for row in members])]
        for name in names:
            cells += _middle([row.others[name][0] for row in members if name in row.others])
        found.append([*cells, largest.function])
    return found


def _order(dtype: str) -> tuple[int, str]:
    names = list(STORAGE)
    first = dtype.split(" ")[0]
    return names.index(first) if first in names else len(names), dtype


def _middle(values: Sequence[float]) -> tuple[str, str]:
    return (shown(statistics.median(values)), shown(max(values))) if values else ("-", "-")
