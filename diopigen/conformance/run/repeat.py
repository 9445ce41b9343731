"""Runs a case several times. A case that passes now and then is not a case that passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from diopigen.conformance.compare.describe import describe
from diopigen.conformance.model import Case, CaseResult, Fault
from diopigen.conformance.run.execute import Calls, Checker
from diopigen.conformance.run.outputs import Output

_NOT_CALLED = frozenset({"missing", "inapplicable"})


def check_repeated(checker: Checker, calls: Calls, case: Case, count: int) -> CaseResult:
    """The result of a case that runs `count` times: that of the first run, where all others have the same outcome and
    the same bytes in all outputs; else `nondeterministic`, whichever runs pass."""
    first = checker.check(case, calls)
    before = checker.outputs
    if first.outcome in _NOT_CALLED or _overruns(first):
        return first
    for number in range(2, count + 1):
        again = checker.check(case, calls)
        faults = _differences(first, again, before, checker.outputs, f"run {number} of {count}")
        if faults or _overruns(again):
            failing = first if first.faults else again
            faults += failing.faults
            return replace(
                first, outcome="nondeterministic", faults=tuple(faults), operands=failing.operands or describe(case)
            )
    return first


def _overruns(result: CaseResult) -> bool:
    """Returns whether memory was overrun, after which nothing that runs in this process says anything."""
    return any(fault.kind == "guard" for fault in result.faults)


def _differences(
    first: CaseResult, again: CaseResult, before: Sequence[Output], now: Sequence[Output], run: str
) -> list[Fault]:
    faults = []
    if first.outcome != again.outcome:
        faults.append(Fault("nondeterminism", "", f"{run} has another outcome", first.outcome, again.outcome))
    if len(before) == len(now):
        found = ((one.parameter, one.difference(two)) for one, two in zip(before, now, strict=True))
        faults += [Fault("nondeterminism", name, f"{run}: {what}") for name, what in found if what]
    elif first.outcome == again.outcome:
        message = f"{run} writes another number of outputs"
        faults.append(Fault("nondeterminism", "", message, str(len(before)), str(len(now))))
    return faults
