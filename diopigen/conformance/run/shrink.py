"""Smaller calls that fail as held-out calls do: the first of each function that fails is made as simple as possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from diopigen.conformance.cases.held_out import AXIS, HeldOut, smallest
from diopigen.conformance.model import FAILURES, Case, CaseResult, Results

_HUNG = 4
"""Tries of smaller calls for one that hangs."""
_MOST = 5
"""Functions whose failures are made smaller: a run that fails everywhere ends soon as well."""


def with_smallest_failures(results: Results, held_out: HeldOut, check: Callable[[Case], CaseResult]) -> Results:
    """The results; the first failure of some functions has the smallest call that fails with the same outcome."""
    found: dict[str, CaseResult] = {}
    for failing in results.failures:
        is_known = any(one.case.function == failing.case.function for one in found.values())
        if failing.case.axis == AXIS and failing.outcome in FAILURES and not is_known and len(found) < _MOST:
            found[failing.case.id] = _with_smallest(failing, held_out, check)
    return replace(results, results=tuple(found.get(one.case.id, one) for one in results.results))


def _with_smallest(failing: CaseResult, held_out: HeldOut, check: Callable[[Case], CaseResult]) -> CaseResult:
    last = smallest_failure(failing, held_out, check)
    if last is failing:
        return failing
    fault = last.faults[0]
    where = f"{fault.parameter}: " if fault.parameter else ""
    return replace(failing, smallest=(f"{fault.kind}: {where}{fault.message}", *last.operands))


def smallest_failure(
    failing: CaseResult, held_out: HeldOut, check: Callable[[Case], CaseResult], checks: int = 60
) -> CaseResult:
    """The result of the simplest call that fails with the same outcome, among at most `checks`; `failing` itself where
    there is none. Of calls that hang few are tried: each takes as long as a call may."""
    last = failing
    if failing.outcome == "hung":
        checks = min(checks, _HUNG)

    def fails(case: Case) -> bool:
        nonlocal last
        result = check(case)
        if result.outcome == failing.outcome:
            last = result
        return result.outcome == failing.outcome

    smallest(held_out, failing.case, fails, checks)
    return last
