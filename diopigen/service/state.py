"""State that the stages of a request share: the library, the process that calls it, and results."""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from diopigen.conformance.cases.held_out import HeldOut
from diopigen.conformance.cases.suite import matching
from diopigen.conformance.model import Case, CaseResult
from diopigen.conformance.report.credit import credit
from diopigen.conformance.run.locate import library_and_runtime
from diopigen.conformance.run.runner import slim
from diopigen.conformance.run.worker import Bench, Setup
from diopigen.ir.model import Function
from diopigen.service.limits import Limits
from diopigen.service.request import Request
from diopigen.service.suite import Suite

_HANGS = 2
"""Calls of one function that do not return, after which no other one is called."""


class State:
    """The state of one request."""

    def __init__(self, suite: Suite, limits: Limits, request: Request, folder: Path) -> None:
        self.suite, self.limits, self.request, self.folder = suite, limits, request, folder
        self.deadline = time.monotonic() + request.time_limit
        self.library = Path(request.library)
        self.results: dict[str, CaseResult] = {}
        """By id of the case."""
        self.not_called = 0
        """Cases that the time of the request was too short for, or whose function hangs."""
        self._functions: list[Function] | None = None
        self._cases: list[Case] | None = None
        self._hangs: Counter[str] = Counter()
        self._bench: Bench | None = None
        self._held_out: HeldOut | None = None
        self.in_force: tuple[str, ...] = ()
        """Names of what confines the library."""

    @functools.cached_property
    def setup(self) -> Setup:
        """The settings of processes that call the library. Raises `Failure` where it is not there."""
        library, runtime = library_and_runtime(
            str(self.library), self.request.runtime or None, lambda: Path(self.suite.runtime)
        )
        return Setup(
            slim(self.suite.interface, {function.name for function in self.selected()}),
            str(library.resolve()), str(runtime.resolve()), self.request.seed, self.request.call_limit,
            self.request.memory_limit, execution=self.suite.execution,
        )  # fmt: skip

    @property
    def bench(self) -> Bench:
        """The checker, with the library open. Raises `Failure` where it does not load."""
        if self._bench is None:
            self._bench = Bench(self.setup)
            self.in_force = self._bench.executor().in_force
        return self._bench

    def selected(self) -> list[Function]:
        """The functions that the request names. Raises `Failure` for a name that no function has."""
        return matching(self.suite.interface, self.request.ops, ())

    @property
    def functions(self) -> list[Function]:
        """The functions that are tested: without names in the request those that the library exports."""
        if self._functions is None:
            present = self.bench.executor().state
            selected = self.selected()
            self._functions = selected if self.request.ops else [one for one in selected if present[one.name] == 1]
        return self._functions

    @property
    def held_out(self) -> HeldOut:
        """Calls that follow from the seed of the request."""
        if self._held_out is None:
            self._held_out = HeldOut(self.suite.interface, self.request.seed)
        return self._held_out

    def cases(self) -> list[Case]:
        """The cases of the suite for the functions that are tested."""
        if self._cases is None:
            names = [function.name for function in self.functions]
            self._cases = self.suite.cases(names) if names else []
        return self._cases

    def checked(self, cases: Iterable[Case]) -> list[CaseResult]:
        """The results of cases, from an earlier stage where they are there, as far as the time suffices."""
        results = []
        for case in cases:
            if case.id not in self.results and not self._is_called(case):
                self.not_called += 1
                continue
            result = self.results.get(case.id) or self.check(case)
            self.results[case.id] = result
            results.append(result)
        return results

    @property
    def has_time(self) -> bool:
        """Returns whether the time of the request is not over."""
        return time.monotonic() < self.deadline

    def _is_called(self, case: Case) -> bool:
        return self.has_time and self._hangs[case.function] < _HANGS

    def check(self, case: Case) -> CaseResult:
        """Runs one case."""
        result = self.bench.result(case)
        self._hangs[case.function] += result.outcome == "hung"
        return result

    def credit(self, *, is_complete: bool) -> Mapping[str, Any]:
        """Partial credit, with a score where all stages and cases ran."""
        return credit(self.results.values(), is_complete=is_complete and not self.not_called)

    def ended(self) -> str:
        """Leaves the library; describes what is wrong with that, empty if nothing is."""
        if self._bench is None:
            return ""
        wrong, printed = self._bench.end()
        others = [f"the library has opened {path}, whose results these may be" for path in self._bench.serving]
        return "; ".join([*([f"{wrong} {printed}".strip()] if wrong else []), *others])
