"""Decides which tolerance the results of a call meet, of those that the case has.

In order: the bound of the class, or in its place what a chip declares; the same without denormals, where the chip
flushes them; the dtypes that shims convert the call to; the factor of a known exception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from diopigen.chip.accuracy import Accuracy, Declaration, accuracy_of
from diopigen.conformance.model import SUCCESS, Case, Fault, Measured
from diopigen.conformance.oracles import Answer, Call, Property, oracle_of
from diopigen.conformance.run.prepare import Prepared
from diopigen.conformance.run.values import Standard, ValueCheck
from diopigen.conformance.run.views import View, converted, flushed
from diopigen.ir.model import Function


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome, the faults of one that failed, the declarations that results were held to, and errors in ULP."""

    outcome: str
    faults: tuple[Fault, ...] = ()
    sources: tuple[str, ...] = ()
    errors: tuple[Measured, ...] = ()


class Accuracies:
    """Declared accuracy by function and dtype, each resolved once."""

    def __init__(self, declarations: Sequence[Declaration]) -> None:
        self.declarations = declarations
        self._known: dict[tuple[str, str], Accuracy | None] = {}

    def of(self, function: Function, dtype: str) -> Accuracy | None:
        """Resolved accuracy of a function in a dtype."""
        key = (function.name, dtype)
        if key not in self._known:
            self._known[key] = accuracy_of(self.declarations, function, dtype)
        return self._known[key]

    @property
    def flush(self) -> bool:
        """Returns whether anything is declared of denormals."""
        return any(one.flush_denormals for one in self.declarations)


class Validator:
    """Checks the results of one call."""

    def __init__(self, accuracies: Accuracies) -> None:
        self.accuracies = accuracies
        self.varying: set[str] = set()
        """The outputs that differ from call to call."""
        self.compared: set[str] = set()
        """The outputs that the oracle answers for: all but scratch memory."""

    def verdict(self, case: Case, ready: Prepared, call: Call) -> Verdict:
        """Result of a call that has succeeded; `uncovered` if there is no oracle."""
        oracle = oracle_of(call.function)
        if oracle is None:
            return Verdict("uncovered")

        def ask(view: View) -> Answer:
            with np.errstate(all="ignore"):
                return oracle(view.call)

        declared = Standard(self.accuracies.of) if self.accuracies.declarations else Standard()
        usual: Answer | None = None
        view = View(call)
        if case.expect == SUCCESS:
            usual = ask(view)
            self._note(usual)
            found = self._as_it_is(case, ready, view, usual, declared)
            if found.outcome == "failed" and self.accuracies.flush:
                found = self._flushed(case, ready, found, ask)
            if found.outcome != "failed" or (case.conversion is None and case.waiver is None):
                return found
        else:
            found = Verdict("failed")
        answer = usual
        if case.conversion is not None:
            view = converted(call, case.conversion)
            answer = ask(view)
            self._note(answer)
            check = ValueCheck(case, ready, view, declared, usual)
            faults = check.faults(answer)
            outcome = "failed" if faults else "converted"
            found = Verdict(outcome, tuple(faults), tuple(check.sources), check.errors())
            if not faults:
                return found
        if case.waiver is not None and case.waiver.factor > 1 and answer is not None:
            check = ValueCheck(case, ready, view, Standard(factor=case.waiver.factor), usual)
            if not check.faults(answer):
                return Verdict("excepted", (), found.sources, found.errors)
        return found

    def _as_it_is(self, case: Case, ready: Prepared, view: View, answer: Answer, declared: Standard) -> Verdict:
        check = ValueCheck(case, ready, view, declared)
        faults = check.faults(answer)
        sources, errors = tuple(check.sources), check.errors()
        if faults:
            return Verdict("failed", tuple(faults), sources, errors)
        is_needed = sources and ValueCheck(case, ready, view, Standard()).faults(answer)
        return Verdict("declared" if is_needed else "passed", (), sources, errors)

    def _flushed(self, case: Case, ready: Prepared, found: Verdict, ask: Callable[[View], Answer]) -> Verdict:
        """The results for operands whose denormals are zero, where the chip declares that of the function."""
        call = ready.function, ready.values, ready.dtypes, ready.shapes
        view = flushed(Call(*call))
        dtypes = {dtype for dtype in ready.dtypes.values() if isinstance(dtype, str)}
        entries = [self.accuracies.of(ready.function, dtype) for dtype in sorted(dtypes)]
        flushing = [one for one in entries if one is not None and one.flush]
        if view is None or not flushing:
            return found
        check = ValueCheck(case, ready, view, Standard(self.accuracies.of))
        if check.faults(ask(view)):
            return found
        sources = dict.fromkeys((*check.sources, *(where for one in flushing for where in one.sources)))
        return Verdict("declared", (), tuple(sources), check.errors())

    def _note(self, answer: Answer) -> None:
        self.varying = {name for name, one in answer.items() if isinstance(one, Property) and one.varies}
        self.compared = set(answer)
