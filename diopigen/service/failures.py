"""Failures of a stage in full: the first of each kind in each function, the smallest call that fails, the cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.model import ABSENT, FAILURES, SUCCESS, CaseResult
from diopigen.conformance.report.causes import likely_causes
from diopigen.conformance.run.shrink import smallest_failure
from diopigen.service.state import State

COUNTING = FAILURES | ABSENT
_CHECKS = {"failed": 60, "crashed": 12}
"""Calls that are tried for a smaller one: a crash costs a process, and a call that hangs its whole time."""


def failures(state: State, results: Sequence[CaseResult]) -> list[dict[str, Any]]:
    """The records of the failures among the results of a stage."""
    first: dict[tuple[str, str, str], CaseResult] = {}
    for result in results:
        if result.outcome in COUNTING:
            kind = result.faults[0].kind if result.faults else ""
            first.setdefault((result.case.function, result.outcome, kind), result)
    selected = list(first.values())[: state.limits.failures]
    every = list(state.results.values())
    return [_record(state, result, [one for one in every if _is_alike(one, result)]) for result in selected]


def _is_alike(one: CaseResult, failing: CaseResult) -> bool:
    """Returns whether a result is evidence about the cause of a failure: passes, and failures of its kind."""
    if one.case.function != failing.case.function:
        return False
    kinds = {fault.kind for fault in failing.faults[:1]}
    return one.outcome not in COUNTING or (
        one.outcome == failing.outcome and {fault.kind for fault in one.faults[:1]} == kinds
    )


def _record(state: State, result: CaseResult, alike: Sequence[CaseResult]) -> dict[str, Any]:
    causes = likely_causes(alike, result)
    return {
        "case": result.case.id,
        **_described(result),
        "alike": sum(one.outcome in COUNTING for one in alike),
        **_smallest(state, result),
        **({"likely_cause": {"code": causes[0].code, "text": causes[0].text}} if causes else {}),
        **({"other_causes": [one.code for one in causes[1:]]} if causes[1:] else {}),
    }


def _described(result: CaseResult) -> dict[str, Any]:
    fault = result.faults[0] if result.faults else None
    record: dict[str, Any] = {"outcome": result.outcome}
    if fault is not None:
        record |= {"kind": fault.kind, "parameter": fault.parameter, "message": fault.message}
        record |= {"expected": fault.expected, "actual": fault.actual}
    elif result.reason:
        record["message"] = result.reason
    return {**{name: value for name, value in record.items() if value}, "operands": list(result.operands)}


def _smallest(state: State, result: CaseResult) -> dict[str, Any]:
    """The smallest call that fails with the same outcome, where there is a smaller one."""
    checks = _CHECKS.get(result.outcome, 0)
    if not checks or result.case.expect != SUCCESS or not state.has_time:
        return {}
    try:
        found = smallest_failure(result, state.held_out, state.check, checks)
    except RecipeError:
        return {}
    return {} if found is result else {"smallest": _described(found)}
