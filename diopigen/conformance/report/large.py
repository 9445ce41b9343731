"""Report of calls beyond 32 bits, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from diopigen.conformance.run.large import NO_ROWS, NOT_SMALL, TOO_LARGE, LargeResult
from diopigen.output.table import ruled

_STATES = ("failed", "crashed", "hung", "passed", NOT_SMALL, TOO_LARGE, NO_ROWS, "missing")


def table(results: Sequence[LargeResult]) -> str:
    """A row for each function with a call, and a summary."""
    rows = [["function", "dtype", "rows of", "elements", "GiB", "outcome", "about"]]
    for one in sorted(results, key=lambda one: (_rank(one.outcome), one.function)):
        call = one.call
        if call is None:
            continue
        size, batched = f"{call.bytes / (1 << 30):.1f}", ", ".join(call.batched)
        rows.append([one.function, call.case.dtype, batched, str(call.elements), size, one.outcome, _about(one)])
    counts = Counter(one.outcome for one in results)
    states = ", ".join(f"{counts[state]} {state}" for state in sorted(counts, key=_rank))
    return "\n".join([*ruled(rows, left=(0, 1, 2, 5, 6)), "", f"{len(results)} functions: {states}"]) + "\n"


def _rank(outcome: str) -> int:
    return _STATES.index(outcome) if outcome in _STATES else len(_STATES)


def _about(one: LargeResult) -> str:
    if not one.faults or one.call is None:
        return one.note
    fault = one.faults[0]
    where = f"repeat {one.repeat} of {one.call.times}: " if one.repeat else ""
    parameter = f"'{fault.parameter}': " if fault.parameter else ""
    return f"{where}{parameter}{fault.message}"
