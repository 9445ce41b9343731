"""Report of batch invariance, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from diopigen.conformance.run.batch import INVARIANT, MISSING, NO_ROWS, VARIES, Invariance
from diopigen.output.table import ruled


def table(found: Sequence[Invariance]) -> str:
    """A row for each function, the first difference of those that vary, and a summary."""
    rows = [["function", "rows of", "calls", "state", "differ", "ULP", "first difference"]]
    for one in sorted(found, key=lambda one: ((VARIES, INVARIANT, NO_ROWS, MISSING).index(one.state), one.function)):
        first = one.differences[0] if one.differences else None
        differing = len({difference.case for difference in one.differences})
        text = one.note if first is None else f"{first.case}, rows {first.rows[0]} to {first.rows[1] - 1}"
        largest = max((difference.ulps for difference in one.differences), default=0.0)
        ulps = f"{largest:.3g}" if largest else ""
        rows.append([one.function, ", ".join(one.batched), str(one.calls), one.state, str(differing), ulps, text])
    counts = Counter(one.state for one in found)
    lines = ruled(rows, left=(0, 1, 3, 6))
    lines += [
        f"DECLARED {one.function} is batch invariant by {', '.join(one.declared)}, and is not"
        for one in found
        if one.declared
    ]
    lines += [f"BROKEN {one.function}: {one.note}" for one in found if one.is_broken]
    states = ", ".join(f"{counts[state]} {word}" for state, word in _WORDS.items() if counts[state])
    return "\n".join([*lines, "", f"{len(found)} functions: {states}"]) + "\n"


_WORDS = {INVARIANT: "batch invariant", VARIES: "vary", NO_ROWS: "without independent rows", MISSING: "missing"}
