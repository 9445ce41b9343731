"""Partial credit: the share of cases that pass, axis by axis, weighted by the injected faults that the axis finds.

`axis_kills.json` is written by the lab: of the faults in functions with cases of an axis, each counted once for each
function that it acts in, how many these cases find. The file names the command and the date.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from diopigen.conformance.model import ABSENT, FAILURES, PASSING, CaseResult

KILLS = Path(__file__).with_name("axis_kills.json")
_COUNTED = PASSING | FAILURES | ABSENT


@cache
def weights() -> Mapping[str, float]:
    """The share of injected faults that the cases of each axis find."""
    axes = json.loads(KILLS.read_text(encoding="utf-8"))["axes"]
    return {axis: one["killed"] / one["places"] for axis, one in axes.items()}


def credit(results: Iterable[CaseResult], *, is_complete: bool) -> Mapping[str, Any]:
    """Cases and passes by axis, and `score`, from 0 to 1: 1 where every case passes. It is None unless all cases of the
    request ran (`is_complete`), so that a run that ends early is not compared with a whole one. An axis that the lab
    does not have weighs nothing."""
    cases: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for result in results:
        if result.outcome in _COUNTED:
            cases[result.case.axis] += 1
            passed[result.case.axis] += result.outcome in PASSING
    known = weights()
    total = sum(known.get(axis, 0.0) for axis in cases)
    earned = sum(known.get(axis, 0.0) * passed[axis] / count for axis, count in cases.items())
    score = None
    if is_complete and total:
        score = 1.0 if passed == cases else min(earned / total, 0.999999)
    axes = {
        axis: {"passed": passed[axis], "cases": count, "weight": round(known.get(axis, 0.0), 4)}
        for axis, count in cases.items()
    }
    return {"score": score if score is None else round(score, 6), "axes": axes}
