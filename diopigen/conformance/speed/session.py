"""Times the calls of a library and of a reference, and compares the outputs of timed calls with the oracle."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from diopigen.conformance.model import PASSING, Case, Fault
from diopigen.conformance.oracles import oracles
from diopigen.conformance.run.execute import Checker
from diopigen.conformance.run.frames import OWN, Answer
from diopigen.conformance.run.worker import Bench, Setup
from diopigen.conformance.speed.score import UNVERIFIED, Row
from diopigen.conformance.speed.sizes import elements_of
from diopigen.conformance.speed.timing import Clock, Measured, Subject, Timer, TrialError, measure
from diopigen.conformance.speed.work import work_of
from diopigen.ir.model import Function

CLOCK: Clock = time.perf_counter
"""The clock of all times: of this process, which the library is not in."""
_COMPARING = 20.0
"""Seconds that a comparison with the oracle may take, by what smaller calls of the function took."""
_SHORT = 0.05
"""Seconds of a comparison that do not grow with the call."""
_TRIALS = 5


@dataclass(frozen=True, slots=True)
class Call:
    """A call to be timed."""

    function: Function
    size: str
    case: Case


class Comparison:
    """The libraries that are timed in turns: the one under test, and a reference or none."""

    def __init__(
        self,
        setup: Setup,
        reference: Setup | None,
        *,
        cache: int,
        clock: Clock | None = None,
        trials: int = _TRIALS,
    ) -> None:
        """Opens the libraries. `cache` is bytes of the last-level cache, `clock` another clock than CLOCK. Raises
        `Failure`."""
        oracles()  # read before the first call is compared
        self.benches = [Bench(one) for one in (setup, reference) if one is not None]
        self.limit, self.cache, self.clock, self.trials = setup.time_limit, cache, clock or CLOCK, trials
        self.draw = random.Random(setup.seed)
        self._comparing: dict[str, tuple[int, float]] = {}
        """Elements of the last call of each function that was compared, and the seconds of that."""

    @property
    def checker(self) -> Checker:
        """The checker of the library under test."""
        return self.benches[0].checker

    def rows(self, calls: Sequence[Call]) -> Iterator[Row]:
        """The row of each call. Raises `Failure` where a library does not load again after a crash."""
        for call in calls:
            yield self._row(call)

    def end(self) -> Mapping[str, Sequence[str]]:
        """Leaves the libraries, and returns the other ones that the first has opened, with their functions."""
        for bench in self.benches:
            bench.end()
        return self.benches[0].serving

    def _row(self, call: Call) -> Row:
        case, function = call.case, call.function
        row = Row(case, call.size, function.tolerance or "", "missing", work_of(function, case))
        subject = Subject(self.checker.preparer, function, case)
        row = replace(row, has_equal_copies=not subject.rotations)
        timers: dict[Timer, Bench] = {}
        for bench in self.benches:
            executor = bench.executor()
            if executor.state.get(case.called) == OWN:
                timer = Timer(executor, subject, self.checker.statuses, self.clock, self.draw, self.limit)
                timers[timer] = bench
        failed: dict[Bench, TrialError] = {}
        measured: dict[Bench, Measured] = {}
        while timers and not measured:
            try:
                results = measure(list(timers), self.cache, self.trials)
                measured = dict(zip(timers.values(), results, strict=True))
            except TrialError as error:
                bench = timers.pop(error.timer)
                failed[bench] = error
                if error.outcome in ("crashed", "hung"):
                    bench.give_up()
        return self._filled(row, subject, measured, failed)

    def _filled(
        self, row: Row, subject: Subject, measured: Mapping[Bench, Measured], failed: Mapping[Bench, TrialError]
    ) -> Row:
        own, *others = self.benches
        reference = measured.get(others[0]) if others else None
        if reference is not None:
            row = replace(row, reference=reference.cold, reference_warm=reference.warm)
        if own in failed:
            error = failed[own]
            is_absent = error.outcome in ("unimplemented", "inapplicable")
            faults = [] if is_absent else [Fault(error.outcome, "", str(error))]
            return replace(row, outcome=error.outcome, faults=tuple(faults))
        result = measured.get(own)
        if result is None:
            return row
        outcome, wrong = self._compared(subject, result.answers)
        return replace(row, outcome=outcome, faults=wrong, cold=result.cold, warm=result.warm)

    def _compared(self, subject: Subject, answers: Sequence[tuple[int, Answer]]) -> tuple[str, tuple[Fault, ...]]:
        """Compares the outputs of timed calls with the oracle, as many as there is time for, at least of one."""
        case, function = subject.case, subject.function
        elements = max(elements_of(case), 1)
        before = self._comparing.get(function.name)
        if before is not None and (before[1] - _SHORT) * elements / before[0] > _COMPARING:
            return UNVERIFIED, ()
        start, outcome = time.monotonic(), UNVERIFIED
        for done, (number, answer) in enumerate(answers):
            passed = time.monotonic() - start
            if done and passed * (done + 1) / done > _COMPARING / 10:
                break
            outcome, faults = self.checker.examine(case, subject.frame, subject.copy(number), answer)
            if outcome not in PASSING:
                return outcome, tuple(faults)
            if not done:
                self._comparing[function.name] = (elements, time.monotonic() - start)
        return outcome, ()
