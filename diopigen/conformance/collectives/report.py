"""The results of the suite of collectives as text and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from diopigen.conformance.collectives.model import CollectiveResult

_STATES = ("passed", "failed", "skipped")


def text(results: Sequence[CollectiveResult], nranks: int, vendor: str, failures: int) -> str:
    """A table by function, and the failures in full."""
    rows = list(dict.fromkeys(result.case.function for result in results))
    counts = {row: Counter(r.status for r in results if r.case.function == row) for row in rows}
    width = max((len(row) for row in rows), default=8)
    lines = [f"{'function':<{width}}  {'passed':>6}  {'failed':>6}  {'skipped':>7}"]
    lines += [
        f"{row:<{width}}  {counts[row]['passed']:>6}  {counts[row]['failed']:>6}  {counts[row]['skipped']:>7}"
        for row in rows
    ]
    failed = [result for result in results if result.status == "failed"]
    lines += [f"FAILED {result.case.id}: {result.reason}" for result in failed[:failures]]
    if len(failed) > failures:
        lines.append(f"and {len(failed) - failures} more")
    skipped = Counter(result.reason for result in results if result.status == "skipped")
    lines += [f"skipped {count}: {reason}" for reason, count in skipped.most_common(5)]
    total = Counter(result.status for result in results)
    summary = ", ".join(f"{total[state]} {state}" for state in _STATES if total[state])
    lines.append(f"{vendor or 'the library'}, {nranks} ranks: {summary or 'no cases'}")
    return "\n".join(lines) + "\n"


def to_json(results: Sequence[CollectiveResult], nranks: int, vendor: str, seed: int) -> str:
    """All results, one entry for each case."""
    entries = [
        {"id": result.case.id, "status": result.status, **({"reason": result.reason} if result.reason else {})}
        for result in results
    ]
    return json.dumps({"vendor": vendor, "ranks": nranks, "seed": seed, "results": entries}, indent=1) + "\n"
