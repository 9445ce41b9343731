"""The cases that a library leaves to the reference library, by function and reason."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from diopigen.conformance.model import CaseResult

_SHOWN = 12
_DETAILS = re.compile(
    r" \([a-z0-9]+ \[[0-9, ]*\]\)|\[[0-9, ]*\]|\b(tensor|buffer) \d+|\bis (bool|complex|b?float|u?int)\d*"
)


def check_of(reason: str) -> str:
    """A reason without the tensor that it names, its dtype and its shape: what reasons for one check have in common."""
    return _DETAILS.sub("", reason)


@dataclass(frozen=True, slots=True)
class Left:
    """A function, the number of its cases that were left for one reason, and the reason as the library gave it in one
    of them."""

    function: str
    cases: int
    reason: str


def left_cases(results: Iterable[CaseResult]) -> Sequence[Left]:
    """Calls left to the reference library, the most cases first. Reasons that differ in the tensor that they name, or
    in its dtype or shape, count as one."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for result in results:
        if result.outcome == "unimplemented" and result.reason:
            groups[result.case.function, check_of(result.reason)].append(result.reason)
    found = [Left(function, len(reasons), reasons[0]) for (function, _), reasons in groups.items()]
    return sorted(found, key=lambda left: -left.cases)


def left_text(results: Iterable[CaseResult]) -> list[str]:
    """A paragraph for the report; none where nothing was left with a reason."""
    results = list(results)
    found, foreign = left_cases(results), _foreign_text(results)
    if not found:
        return foreign
    lines = ["left to the reference library, by reason (the first of each; --json has all):"]
    width = len(str(found[0].cases))
    lines += [f"  {left.cases:>{width}}  {left.reason}" for left in found[:_SHOWN]]
    if len(found) > _SHOWN:
        rest = sum(left.cases for left in found[_SHOWN:])
        lines.append(f"  {rest:>{width}}  for {len(found) - _SHOWN} other reasons")
    return ["\n".join(lines), *foreign]


def _foreign_text(results: Iterable[CaseResult]) -> list[str]:
    """A paragraph about functions that are missing in the library and are in one that it needs."""
    functions = sorted({one.case.function for one in results if one.outcome == "missing" and one.reason})
    if not functions:
        return []
    named = ", ".join(functions[:_SHOWN]) + (f" and {len(functions) - _SHOWN} more" if len(functions) > _SHOWN else "")
    return [f"not tested, since only libraries that this one needs define them; name these with --lib: {named}"]
