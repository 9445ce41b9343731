"""The times of a request's functions, by the clock of this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diopigen.chip.model import Peaks
from diopigen.conformance.run.worker import Setup
from diopigen.conformance.speed.report import row_record
from diopigen.conformance.speed.score import Row, findings, served
from diopigen.conformance.speed.session import Call, Comparison
from diopigen.conformance.speed.sizes import calls_of
from diopigen.conformance.speed.timing import last_level_cache
from diopigen.ir.model import Function, Interface

SIZES = ("small", "medium")


def timed(
    interface: Interface, functions: list[Function], setup: Setup, has_time: Callable[[], bool]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The times of a small and a medium call of each function, as `conformance speed` has them, and findings: wrong
    outputs of timed calls, other libraries that served them. Ends early where there is no time left."""
    calls = [
        Call(function, size, case)
        for function in functions
        for size, case in calls_of(interface, function, SIZES, "").items()
    ]
    cache, rows = last_level_cache(), list[Row]()
    comparison = Comparison(setup, None, cache=cache)
    for row in comparison.rows(calls):
        rows.append(row)
        if not has_time():
            break
    found = [*findings(rows, Peaks(), cache), *served(comparison.end())]
    problems = [{"case": one.case, "kind": one.kind, "message": one.message} for one in found]
    return [row_record(row, Peaks()) for row in rows], problems
